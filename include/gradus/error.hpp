/// Errors of the library. Every function of the public API reports failure by throwing one of these;
/// nothing is printed and the process is never ended. An error says what was wrong, where (file, row, column or byte),
/// what is allowed and what to do: as a text, what(), and as fields for programs, fields().
///
/// To throw one, give the text and the fields that are known:
///
///     throw UsageError(
///         "the number of clusters must be at least 1, not 0",
///         {.code = error_code::out_of_range, .argument = "clusters", .value = "0", .allowed = "at least 1"});
///
/// A text about an argument, "weights: all weights are zero", begins with about(), which also fills in the field
/// `argument`; where the argument came from a file, the program writes the file's name in its place. A text never
/// spells an option for one front end: option() and flag() refer to it, and C++, the program and Python each spell it
/// in their way. What the user can do is the field `remedy`, which what() appends after a semicolon:
///
///     throw InputError(about("points") + "row 3 is outside of the box",
///                      {.code = error_code::out_of_range, .row = 3,
///                       .remedy = flag("PairHistogramOptions::fold") + " moves such points in"});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/export.hpp"

namespace gradus {

/// The codes of errors. They are part of the interface: a code keeps its name and its meaning.
namespace error_code {

// Errors without a code of their own have the code of their class.
inline constexpr const char* failed = "failed";                ///< Error
inline constexpr const char* bad_argument = "bad_argument";    ///< UsageError
inline constexpr const char* bad_input = "bad_input";          ///< InputError
inline constexpr const char* not_supported = "not_supported";  ///< UnsupportedError
inline constexpr const char* out_of_memory = "out_of_memory";  ///< OutOfMemoryError
inline constexpr const char* wrong_result = "wrong_result";    ///< VerificationError
inline constexpr const char* interrupted = "interrupted";      ///< InterruptedError

// Arguments
inline constexpr const char* out_of_range = "out_of_range";            ///< a number outside of what is allowed
inline constexpr const char* unknown_choice = "unknown_choice";        ///< a value that is not one of the choices
inline constexpr const char* unknown_variant = "unknown_variant";      ///< a variant that the problem does not have
inline constexpr const char* missing_argument = "missing_argument";    ///< an argument without which there is no job
inline constexpr const char* argument_conflict = "argument_conflict";  ///< arguments that exclude each other
inline constexpr const char* no_effect = "no_effect";                  ///< an argument that the call has no use for
inline constexpr const char* memory_overlap = "memory_overlap";        ///< memory of results that is read, too

// Data
inline constexpr const char* shape_mismatch = "shape_mismatch";  ///< sizes that do not fit together
inline constexpr const char* not_finite = "not_finite";          ///< NaN or an infinity
inline constexpr const char* flat_cell = "flat_cell";            ///< a periodic box without volume, but for rounding
inline constexpr const char* reach_too_long = "reach_too_long";  ///< of bins, for a periodic box
inline constexpr const char* outside_box = "outside_box";        ///< a point outside of the periodic box
inline constexpr const char* overflow = "overflow";              ///< a result that its type does not hold
inline constexpr const char* too_few_points = "too_few_points";  ///< fewer different ones than clusters
inline constexpr const char* empty_cluster = "empty_cluster";    ///< under the option that forbids it
inline constexpr const char* negative_cycle = "negative_cycle";  ///< a graph without least distances

// Files
inline constexpr const char* file_format = "file_format";  ///< contents that are not what the format says
inline constexpr const char* cannot_read = "cannot_read";
inline constexpr const char* cannot_write = "cannot_write";

}  // namespace error_code

/// An option that an error's text refers to.
struct OptionReference {
  enum class Value : unsigned char { none, flag, number, text };

  std::string name = {};   ///< "KMeansOptions::empty": the struct and its member
  std::string value = {};  ///< "keep"
  Value kind = Value::none;
};

/// Spells an option: C++ "KMeansOptions::empty = keep", the program "--empty keep", Python empty="keep".
using OptionSpelling = std::function<std::string(const OptionReference&)>;

/// A text in pieces: words, and references that each front end spells in its way.
class GRADUS_EXPORT ErrorMessage {
 public:
  struct Piece {
    enum class Kind : unsigned char { words, option, vertex };

    Kind kind = Kind::words;
    std::string words = {};
    OptionReference option = {};
    std::int32_t vertex = 0;  ///< of a graph, counted from 0
  };

  ErrorMessage() = default;
  ErrorMessage(const char* words);  // NOLINT(google-explicit-constructor): a text is a message
  ErrorMessage(std::string words);  // NOLINT(google-explicit-constructor)
  explicit ErrorMessage(Piece piece) : pieces{std::move(piece)} {}

  bool empty() const noexcept { return subject.empty() && pieces.empty(); }
  ErrorMessage& operator+=(const ErrorMessage& more);
  friend ErrorMessage operator+(ErrorMessage one, const ErrorMessage& more) { return std::move(one += more); }
  std::string text(const OptionSpelling& spelling) const;

  std::string subject;  ///< what the text is about, before a colon; see about()
  std::vector<Piece> pieces;
};

/// Begins a text about an argument, in words: "other weights"; or about a part of one: "edges: from".
GRADUS_EXPORT ErrorMessage about(std::string_view subject);
/// Refers to an option by its struct and member, as "KMeansOptions::empty", and to one of its values.
GRADUS_EXPORT ErrorMessage option(std::string_view name);
GRADUS_EXPORT ErrorMessage option(std::string_view name, std::string_view value);
GRADUS_EXPORT ErrorMessage option(std::string_view name, std::int64_t value);
GRADUS_EXPORT ErrorMessage option(std::string_view name, double value);
inline ErrorMessage option(std::string_view name, int value) { return option(name, std::int64_t{value}); }
/// Refers to an option that is set to true.
GRADUS_EXPORT ErrorMessage flag(std::string_view name);

/// The fields of an error. All are optional.
struct ErrorFields {
  std::string code = {};      ///< one of error_code
  std::string argument = {};  ///< the name of a parameter, or of an option in its struct: "clusters"
  std::string file = {};
  std::optional<std::int64_t> row = {};     ///< of an array counted from 0, of a text file the line, counted from 1
  std::optional<std::int64_t> column = {};  ///< counted as the row
  std::optional<std::int64_t> byte = {};    ///< in the file, counted from 0
  std::string value = {};                   ///< the value that was refused
  std::string allowed = {};                 ///< the values that are not
  ErrorMessage remedy = {};                 ///< what the user can do
  std::string context = {};                 ///< what() ends with it: " (in frame 3)"
  std::optional<int> rank = {};             ///< where the error occurred, if the job has several ranks
  int ranks = 1;
};

/// Base of all errors, and by itself: a run-time failure such as a full disk.
class GRADUS_EXPORT Error : public std::runtime_error {
 public:
  explicit Error(const char* text);
  explicit Error(const std::string& text);
  explicit Error(ErrorMessage message, ErrorFields fields = {});
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;
  /// The whole text, with options spelled as in C++.
  const char* what() const noexcept override;
  /// The whole text, with options spelled by a front end.
  std::string text(const OptionSpelling& spelling) const;
  /// The field, or the code of the class.
  std::string_view code() const noexcept;
  const ErrorFields& fields() const noexcept;
  const ErrorMessage& message() const noexcept;
  /// Replaces the fields, and updates what(). Layers that catch an error on its way add what they know.
  void set_fields(ErrorFields fields);
  /// Replaces the message, and updates what().
  void set_message(ErrorMessage message);
  /// The exit status that the command line gives for this error.
  virtual int exit_status() const noexcept { return 1; }

 protected:
  virtual std::string_view class_code() const noexcept { return error_code::failed; }

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;  // copies of an exception must not throw
};

/// A wrong option or argument: an unknown variant's name, zero clusters, a negative tolerance.
class GRADUS_EXPORT UsageError : public Error {
 public:
  using Error::Error;
  ~UsageError() override;
  int exit_status() const noexcept override { return 2; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::bad_argument; }
};

/// Bad data: a file or an array that does not hold what it should.
class GRADUS_EXPORT InputError : public Error {
 public:
  using Error::Error;
  ~InputError() override;
  int exit_status() const noexcept override { return 3; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::bad_input; }
};

/// Something that this machine or this build cannot do.
class GRADUS_EXPORT UnsupportedError : public Error {
 public:
  using Error::Error;
  ~UnsupportedError() override;
  int exit_status() const noexcept override { return 4; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::not_supported; }
};

/// Memory does not suffice: that of the machine or of a GPU, or what the request allows of it.
class GRADUS_EXPORT OutOfMemoryError : public Error {
 public:
  using Error::Error;
  ~OutOfMemoryError() override;

 protected:
  std::string_view class_code() const noexcept override { return error_code::out_of_memory; }
};

/// A verification found a wrong result.
class GRADUS_EXPORT VerificationError : public Error {
 public:
  using Error::Error;
  ~VerificationError() override;
  int exit_status() const noexcept override { return 5; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::wrong_result; }
};

/// The caller's stop request was honoured.
class GRADUS_EXPORT InterruptedError : public Error {
 public:
  using Error::Error;
  ~InterruptedError() override;
  int exit_status() const noexcept override { return 130; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::interrupted; }
};

}  // namespace gradus
