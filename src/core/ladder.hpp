// The ladder of a problem: the row of a variant, which has the same form in every problem, and the search by name.
// A variant's file ends with its row. Each problem keeps one explicit list of pointers to the rows, in ladder order
// (src/<problem>/variants.cpp); nothing registers itself.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "gradus/error.hpp"
#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"
#include "gradus/variants.hpp"

namespace gradus::execution {
struct Machine;
}

namespace gradus::core {

struct OptionTable;

using gradus::Backend;

/// Yes, or the reason why not.
struct Support {
  bool supported = true;
  std::string reason;

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
  explicit operator bool() const { return supported; }
};

/// What a variant's results owe to the oracle's. Each problem has one function that judges by it (compare() in its
/// cases.hpp), for the tests, `gradus verify` and `gradus bench` alike.
struct Contract {
  enum Kind : std::uint8_t {
    same_bits,  ///< labels, centroids, counts, distances, cells: identical to the oracle
    within,     ///< the textbook's arithmetic: the quantity `of` differs by at most `bound`
    invariants  ///< there is no one right result; what must be true of it is checked
  };
  Kind kind = same_bits;
  double bound = 0;          ///< relative, where the kind is `within`
  std::string_view of = {};  ///< by name: what is bounded, or what is the same where not all is

  friend bool operator==(const Contract& contract, Kind kind) { return contract.kind == kind; }
  /// Whether `value` keeps a contract of the kind `within`; NaN never does. `slack` is added to the truth's magnitude.
  bool allows(double value, double truth, double slack = 0) const {
    return std::abs(value - truth) <= bound * (std::abs(truth) + slack);
  }
};
std::string_view to_string(Contract::Kind kind);
/// The kind, and where not all is the same, of what: "same bits of whole numbers".
std::string kind_text(const Contract& contract);
/// The same with the bound, "within 0.0001".
std::string text(const Contract& contract);

using Memory = MemoryEstimate;

/// The element types of a room's data, in which every variant of the room exists.
template <class... T>
struct Elements {};
/// Of a room whose problems hold no data, such as locks: its templates are instantiated with `void`.
using NoElements = Elements<void>;

/// A room is a struct that names what is the problem's own: `name`, `Shape`, `Elements`,
/// and for each element type T `Problem<T>` and `Result<T>`.
///
/// A run does the whole job. `execution` says with how many threads and where, and whom to tell of progress; the run
/// adds the seconds of its phases to `phases`.
template <class Room, class T>
using Run = typename Room::template Result<T> (*)(const typename Room::template Problem<T>& problem,
                                                  const Execution& execution, std::vector<Phase>& phases);

/// In place of the runs of a variant whose file this build does not compile; its row's `supports` says so too.
struct NotCompiled {};

template <class Room, class T>
struct RunOf {
  using Problem = typename Room::template Problem<T>;
  using Result = typename Room::template Result<T>;
  Run<Room, T> run;

  Result operator()(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) const {
    return run(problem, execution, phases);
  }
  static Result refuse(const Problem&, const Execution&, std::vector<Phase>&) {
    throw UnsupportedError("this build has no CUDA: the variant is not compiled");
  }
};

/// A run for each of the element types, called like one function.
template <class Room, class List = typename Room::Elements>
struct Runs;
template <class Room, class... T>
struct Runs<Room, Elements<T...>> : RunOf<Room, T>... {
  constexpr Runs(Run<Room, T>... runs) : RunOf<Room, T>{runs}... {}
  constexpr Runs(NotCompiled) : RunOf<Room, T>{RunOf<Room, T>::refuse}... {}
  using RunOf<Room, T>::operator()...;
};

// The runs of a GPU variant, one for each element type: its row stands in the table of every build.
#ifdef GRADUS_HAS_CUDA
#define GRADUS_CUDA_RUNS(...) \
  { __VA_ARGS__ }
#else
#define GRADUS_CUDA_RUNS(...) core::NotCompiled()
#endif

/// What a row says that does not depend on the problem.
struct VariantInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view change = {};
  Backend backend = Backend::sequential;
  Contract contract = {};
  bool deterministic = true;
  bool device_input = false;
  bool baseline = false;
  const OptionTable* options = nullptr;
};

template <class Shape>
Support everywhere(const Shape&, const execution::Machine&) {
  return Support::yes();
}
template <class Shape>
Memory nothing(const Shape&, int /*threads*/) {
  return {};
}

/// What a room's rows say beyond what all rows do: Room::RowFacts, where the room has such a struct.
struct NoRowFacts {};
template <class Room>
struct RowFactsOf {
  using Type = NoRowFacts;
};
template <class Room>
  requires requires { typename Room::RowFacts; }
struct RowFactsOf<Room> {
  using Type = typename Room::RowFacts;
};

/// A row of a room's table. What has no default here every row must say.
template <class Room>
struct Variant {
  using Shape = typename Room::Shape;

  std::string_view name;         ///< of the file, the function, the row and the --variant value
  std::string_view summary;      ///< one line: the idea
  std::string_view change = {};  ///< what differs from the rung before, and why that helps
  Contract contract = {};
  Backend backend;
  bool deterministic = true;             ///< gives its own bits again on as many threads; `same_bits` on any number
  bool device_input = false;             ///< takes views of GPU memory; the frame brings all other views there
  bool on_ranks = false;                 ///< ranks may do its work together: see Execution::communicator
  bool baseline = false;                 ///< another library, which need not be on the machine; never chosen
  const OptionTable* options = nullptr;  ///< those that other variants lack: see core/variant_options.hpp
  /// Whether it can do a job of this shape on this machine.
  Support (*supports)(const Shape& shape, const execution::Machine& machine) = everywhere<Shape>;
  /// What the job takes there, with so many threads.
  Memory (*memory)(const Shape& shape, int threads) = nothing<Shape>;
  typename RowFactsOf<Room>::Type facts = {};
  Runs<Room> run;

  operator VariantInfo() const {
    return {name, summary, change, backend, contract, deterministic, device_input, baseline, options};
  }
};

/// The rows of a ladder in its order: a list of pointers, read like a list of rows.
template <class Row>
class Rows {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(const Row* const* place) : place_(place) {}
    constexpr const Row& operator*() const { return **place_; }
    constexpr const Row* operator->() const { return *place_; }
    constexpr Iterator& operator++() { return ++place_, *this; }
    constexpr Iterator operator++(int) { return Iterator(place_++); }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Row* const* place_ = nullptr;
  };

  constexpr Rows(std::span<const Row* const> rows) : rows_(rows) {}
  template <std::size_t n>
  constexpr Rows(const Row* const (&rows)[n]) : rows_(rows) {}

  constexpr Iterator begin() const { return Iterator(rows_.data()); }
  constexpr Iterator end() const { return Iterator(rows_.data() + rows_.size()); }
  constexpr std::size_t size() const { return rows_.size(); }
  constexpr bool empty() const { return rows_.empty(); }
  constexpr const Row& operator[](std::size_t index) const { return *rows_[index]; }

 private:
  std::span<const Row* const> rows_;
};

// For a room's list of rungs: the declaration of a row, which the variant's file defines at its end, and a pointer to
// it. Rows are constants of the compiler, so that the order in which files are initialised does not matter.
#define GRADUS_DECLARE_RUNG(name) extern constinit const Variant name##_rung;
#define GRADUS_POINT_TO_RUNG(name) &name##_rung,

/// A ladder as it is seen by those who do not know the problem.
struct Ladder {
  std::string_view problem;
  std::vector<VariantInfo> (*variants)();  ///< in the table's order
  /// Whether the variant runs on the machine with at least one of the problem's usual shapes. Looks for GPUs where the
  /// variant needs one. UsageError for a name that is in no row.
  Support (*support)(std::string_view variant, const execution::Machine& machine);
};

/// The row called `name` (a hyphen stands for an underscore), or UsageError that suggests the nearest name.
template <class List>
const auto& find_variant(const List& variants, std::string_view name, std::string_view problem) {
  const std::string wanted = with_underscores(name);
  std::vector<std::string_view> names;
  for (const auto& variant : variants) {
    if (variant.name == wanted) return variant;
    names.push_back(variant.name);
  }
  throw UsageError("there is no " + std::string(problem) + " variant '" + std::string(name) + "'" +
                       did_you_mean(wanted, names) + "; 'gradus list " + std::string(problem) + "' shows all of them",
                   {.code = error_code::unknown_variant, .argument = "variant", .value = std::string(name)});
}

/// Returns whether one of the shapes is taken, or the reason why the last one is not.
template <class Variant, class Shapes>
Support supports_any(const Variant& variant, const Shapes& shapes, const execution::Machine& machine) {
  Support support;
  for (const typename Variant::Shape& shape : shapes)
    if (support = variant.supports(shape, machine); support) break;
  return support;
}

/// The ladder of a room: of the rows that variants() returns, and of the shapes that usual_shapes() returns.
template <class Room, auto variants, auto usual_shapes>
inline constexpr Ladder ladder_of{
    .problem = Room::name,
    .variants =
        [] {
          const auto rows = variants();
          return std::vector<VariantInfo>(rows.begin(), rows.end());
        },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          return supports_any(find_variant(variants(), name, Room::name), usual_shapes(), machine);
        },
};

/// "'one', 'another'": the rows with the capability, for a message.
template <class Variant>
std::string names_of_those_with(bool Variant::*capability, Rows<Variant> variants) {
  std::string names;
  for (const Variant& variant : variants)
    if (variant.*capability) names += (names.empty() ? "'" : ", '") + std::string(variant.name) + "'";
  return names;
}

}  // namespace gradus::core
