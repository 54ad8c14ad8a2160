/// Errors of the library. Every public function reports failure by throwing one of these classes; the library never
/// prints and never ends the process. An error states the problem, its place (file, row, column or byte), the allowed
/// values and the remedy. what() gives these facts as text, and fields() gives them as values for programs.
///
/// Example:
///
///     throw UsageError(
///         "the number of clusters must be at least 1, not 0",
///         {.code = error_code::out_of_range, .argument = "clusters", .value = "0", .allowed = "at least 1"});
///
/// A message about an argument, such as "weights: all weights are zero", begins with about(), which also sets the field
/// `argument`. If the argument came from a file, the command line shows the file name instead.
///
/// Messages refer to options through option() and flag(), because C++, the command line and Python spell options
/// differently. The field `remedy` states what the user can do; what() appends it after a semicolon:
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

/// Codes of errors. The codes are part of the interface: their names and meanings do not change.
namespace error_code {

// Default codes, one per class.
inline constexpr const char* failed = "failed";                ///< Error
inline constexpr const char* bad_argument = "bad_argument";    ///< UsageError
inline constexpr const char* bad_input = "bad_input";          ///< InputError
inline constexpr const char* not_supported = "not_supported";  ///< UnsupportedError
inline constexpr const char* out_of_memory = "out_of_memory";  ///< OutOfMemoryError
inline constexpr const char* wrong_result = "wrong_result";    ///< VerificationError
inline constexpr const char* interrupted = "interrupted";      ///< InterruptedError

// Arguments
inline constexpr const char* out_of_range = "out_of_range";            ///< a number is outside its range
inline constexpr const char* unknown_choice = "unknown_choice";        ///< a value is not one of the choices
inline constexpr const char* unknown_variant = "unknown_variant";      ///< the problem has no variant of this name
inline constexpr const char* missing_argument = "missing_argument";    ///< a required argument is missing
inline constexpr const char* argument_conflict = "argument_conflict";  ///< arguments exclude each other
/// An argument or option has no effect on the call.
inline constexpr const char* no_effect = "no_effect";
inline constexpr const char* memory_overlap = "memory_overlap";  ///< output memory overlaps other memory of the call

// Data
inline constexpr const char* shape_mismatch = "shape_mismatch";  ///< sizes do not match
inline constexpr const char* not_finite = "not_finite";          ///< a value is NaN or infinite
inline constexpr const char* flat_cell = "flat_cell";  ///< the volume of a periodic box is zero within rounding
inline constexpr const char* reach_too_long = "reach_too_long";  ///< bins reach too far for a periodic box
inline constexpr const char* outside_box = "outside_box";        ///< a point is outside the periodic box
inline constexpr const char* overflow = "overflow";              ///< a result does not fit its type
inline constexpr const char* too_few_points = "too_few_points";  ///< there are fewer distinct points than clusters
inline constexpr const char* empty_cluster = "empty_cluster";    ///< a cluster is empty, and the options forbid that
/// There is a negative cycle, so shortest distances do not exist.
inline constexpr const char* negative_cycle = "negative_cycle";

// Files
inline constexpr const char* file_format = "file_format";  ///< the contents do not follow the file format
inline constexpr const char* cannot_read = "cannot_read";
inline constexpr const char* cannot_write = "cannot_write";

}  // namespace error_code

/// A reference to an option in an error message.
struct OptionReference {
  enum class Value : unsigned char { none, flag, number, text };

  std::string name = {};   ///< the struct and its member, such as "KMeansOptions::empty"
  std::string value = {};  ///< "keep"
  Value kind = Value::none;
};

/// Spells an option as one front end writes it: KMeansOptions::empty = keep (C++), --empty keep (command line),
/// empty="keep" (Python).
using OptionSpelling = std::function<std::string(const OptionReference&)>;

/// A message that consists of text and of references to options, which each front end spells differently.
class GRADUS_EXPORT ErrorMessage {
 public:
  struct Piece {
    enum class Kind : unsigned char { words, option, vertex };

    Kind kind = Kind::words;
    std::string words = {};
    OptionReference option = {};
    std::int32_t vertex = 0;  ///< vertex of a graph, counted from 0
  };

  // Defined out of line, because an error is thrown in a thousand places.
  ErrorMessage();
  ErrorMessage(const ErrorMessage&);
  ErrorMessage(ErrorMessage&&) noexcept;
  ErrorMessage& operator=(const ErrorMessage&);
  ErrorMessage& operator=(ErrorMessage&&) noexcept;
  ~ErrorMessage();
  ErrorMessage(const char* words);  // NOLINT(google-explicit-constructor): a text is a message
  ErrorMessage(std::string words);  // NOLINT(google-explicit-constructor)
  explicit ErrorMessage(Piece piece) : pieces{std::move(piece)} {}

  bool empty() const noexcept { return subject.empty() && pieces.empty(); }
  ErrorMessage& operator+=(const ErrorMessage& more);
  friend ErrorMessage operator+(ErrorMessage one, const ErrorMessage& more) { return std::move(one += more); }
  std::string text(const OptionSpelling& spelling) const;

  std::string subject;  ///< the subject of the message, shown before a colon; see about()
  std::vector<Piece> pieces;
};

/// Returns the beginning of a message. `subject` is an argument ("other weights") or a part of an argument ("edges:
/// from").
GRADUS_EXPORT ErrorMessage about(std::string_view subject);
/// Returns a reference to an option by struct and member ("KMeansOptions::empty"), with or without a value.
GRADUS_EXPORT ErrorMessage option(std::string_view name);
GRADUS_EXPORT ErrorMessage option(std::string_view name, std::string_view value);
GRADUS_EXPORT ErrorMessage option(std::string_view name, std::int64_t value);
GRADUS_EXPORT ErrorMessage option(std::string_view name, double value);
inline ErrorMessage option(std::string_view name, int value) { return option(name, std::int64_t{value}); }
/// Returns a reference to an option that is set to true.
GRADUS_EXPORT ErrorMessage flag(std::string_view name);

/// The fields of an error, all of them optional.
struct GRADUS_EXPORT ErrorFields {
  ~ErrorFields();  // defined out of line, like the members of ErrorMessage

  std::string code = {};      ///< one of error_code
  std::string argument = {};  ///< name of a parameter or of a member of an options struct: "clusters"
  std::string file = {};
  /// Row of an array (counted from 0) or line of a text file (counted from 1).
  std::optional<std::int64_t> row = {};
  std::optional<std::int64_t> column = {};  ///< column of an array (counted from 0) or of a text file (counted from 1)
  std::optional<std::int64_t> byte = {};    ///< offset in the file, counted from 0
  std::string value = {};                   ///< the value that was refused
  std::string allowed = {};                 ///< the values that are allowed
  ErrorMessage remedy = {};                 ///< what the user can do
  std::string context = {};                 ///< text that what() appends, such as " (in frame 3)"
  std::optional<int> rank = {};             ///< rank on which the error occurred, if the job has several ranks
  int ranks = 1;
};

/// Base class of all errors. Its direct instances report run-time failures such as a full disk.
class GRADUS_EXPORT Error : public std::runtime_error {
 public:
  explicit Error(const char* text);
  explicit Error(const std::string& text);
  explicit Error(ErrorMessage message, ErrorFields fields = {});
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;
  /// Returns the whole text, with options spelled as in C++.
  const char* what() const noexcept override;
  /// Returns the whole text, with options spelled by a front end.
  std::string text(const OptionSpelling& spelling) const;
  /// Returns the field `code`, or the default code of the class.
  std::string_view code() const noexcept;
  const ErrorFields& fields() const noexcept;
  const ErrorMessage& message() const noexcept;
  /// Replaces the fields and updates what(). A caller that rethrows an error can add fields with this function.
  void set_fields(ErrorFields fields);
  /// Replaces the message and updates what().
  void set_message(ErrorMessage message);
  /// Returns the exit status of the command line for this error.
  virtual int exit_status() const noexcept { return 1; }

 protected:
  virtual std::string_view class_code() const noexcept { return error_code::failed; }

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;  // shared, because copying an exception must not throw
};

/// An invalid option or argument: an unknown variant, zero clusters, a negative tolerance.
class GRADUS_EXPORT UsageError : public Error {
 public:
  using Error::Error;
  ~UsageError() override;
  int exit_status() const noexcept override { return 2; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::bad_argument; }
};

/// Invalid data: the contents of a file or an array.
class GRADUS_EXPORT InputError : public Error {
 public:
  using Error::Error;
  ~InputError() override;
  int exit_status() const noexcept override { return 3; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::bad_input; }
};

/// An operation that this machine or this build does not support.
class GRADUS_EXPORT UnsupportedError : public Error {
 public:
  using Error::Error;
  ~UnsupportedError() override;
  int exit_status() const noexcept override { return 4; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::not_supported; }
};

/// The job needs more memory than the machine or the GPU has, or more than the request allows.
class GRADUS_EXPORT OutOfMemoryError : public Error {
 public:
  using Error::Error;
  ~OutOfMemoryError() override;

 protected:
  std::string_view class_code() const noexcept override { return error_code::out_of_memory; }
};

/// A verification found an incorrect result.
class GRADUS_EXPORT VerificationError : public Error {
 public:
  using Error::Error;
  ~VerificationError() override;
  int exit_status() const noexcept override { return 5; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::wrong_result; }
};

/// The job ended because of the caller's stop request.
class GRADUS_EXPORT InterruptedError : public Error {
 public:
  using Error::Error;
  ~InterruptedError() override;
  int exit_status() const noexcept override { return 130; }

 protected:
  std::string_view class_code() const noexcept override { return error_code::interrupted; }
};

}  // namespace gradus
