// The workload of `gradus bench skeleton`: values that are to be added.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "skeleton/cases.hpp"

namespace gradus::bench {

namespace {

using nlohmann::ordered_json;
using skeleton_detail::Variant;

constexpr std::string_view problem_name = "skeleton";

class Addition : public Workload {
 public:
  Addition(std::int64_t count, std::stop_token stop) : stop_(std::move(stop)) {
    for (std::int64_t index = 0; index < count; ++index)
      values_.push_back(static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15U);
  }

  std::string title() const override { return fmt::format("{} values", values_.size()); }
  ordered_json facts() const override { return {{"values", values_.size()}}; }
  core::Support support(std::string_view variant) const override {
    return variant_called(variant).supports(problem().shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    const std::uint64_t truth = skeleton_detail::oracle(values_, 0);
    for_each_sound(rows, "verify", report, [&](Row& row) {
      const PeakMemory memory;
      std::vector<Phase> phases;
      const std::string difference = skeleton_detail::compare(add(row, phases), truth);
      row.memory_bytes = memory.bytes();
      if (!difference.empty()) mark_wrong(row, difference);
    });
    return "the sum against the oracle";
  }

  Sample run(const Row& row) override {
    std::vector<Phase> phases;
    const auto start = core::Clock::now();
    add(row, phases);
    return sample_of(core::seconds_since(start), phases);
  }

  std::vector<Work> work(const Row& row) const override {
    return {{&Ceilings::read_bytes_per_second, 8.0 * static_cast<double>(values_.size()), row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    const double rate = static_cast<double>(values_.size()) / row.seconds.median;
    return {{"values_per_second", rate, "10^9/s", fmt::format("{:.3g}", 1e-9 * rate)}};
  }

 private:
  static const Variant& variant_called(std::string_view name) {
    return core::find_variant(skeleton_detail::variants(), name, problem_name);
  }
  skeleton_detail::Problem problem() const { return {.values = values_, .start = 0, .stop = stop_}; }
  std::uint64_t add(const Row& row, std::vector<Phase>& phases) const {
    return variant_called(row.variant).run(problem(), execution_of(row, stop_), phases);
  }

  std::vector<std::uint64_t> values_;
  std::stop_token stop_;
};

class Additions : public Workloads {
 public:
  std::vector<Axis> axes() override {
    return {{.name = "values",
             .letter = "",
             .form = "N,...",
             .help = "how many values are added",
             .initial = "1000000",
             .parse = [this](const std::string& label, const std::string& text) {
               values_ = parse_whole_list(label, text, 0, 1 << 30);
             }}};
  }

  void prepare(const InputCallbacks&) override {}

  void scale(double share) override {
    for (int& count : values_) count = std::max(1, static_cast<int>(share * count));
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    for (const int count : values_) {
      Addition addition(count, callbacks.stop);
      use(addition);
    }
  }

 private:
  std::vector<int> values_{1000000};
};

}  // namespace

extern const ProblemRow skeleton_problem;
const ProblemRow skeleton_problem{
    .name = problem_name,
    .summary = "the sum of many numbers",
    .figures = "10^9/s: values added in a second.",
    .ladder = &skeleton_detail::ladder,
    .verify = verify_room<skeleton_detail::Trial>,
    .cases = case_names_of<skeleton_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<Additions>(); },
};

}  // namespace gradus::bench
