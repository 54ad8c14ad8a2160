/// Errors of the library. Every function of the public API reports failure by throwing one of these;
/// nothing is printed and the process is never ended. A message says what was wrong, where
/// (file, row, column or byte), and what would be right.
#pragma once

#include <stdexcept>
#include <string>

#include "gradus/export.hpp"

namespace gradus {

/// Base of all errors, and by itself: a run-time failure such as a full disk.
class GRADUS_EXPORT Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  /// The exit status that the command line gives for this error.
  virtual int exit_status() const noexcept { return 1; }
};

/// A wrong option or argument: an unknown variant's name, zero clusters, a negative tolerance.
class GRADUS_EXPORT UsageError : public Error {
 public:
  using Error::Error;
  ~UsageError() override;
  int exit_status() const noexcept override { return 2; }
};

/// Bad data: a file or an array that does not hold what it should.
class GRADUS_EXPORT InputError : public Error {
 public:
  using Error::Error;
  ~InputError() override;
  int exit_status() const noexcept override { return 3; }
};

/// Something that this machine or this build cannot do.
class GRADUS_EXPORT UnsupportedError : public Error {
 public:
  using Error::Error;
  ~UnsupportedError() override;
  int exit_status() const noexcept override { return 4; }
};

/// Memory does not suffice: that of the machine or of a GPU, or what the request allows of it.
class GRADUS_EXPORT OutOfMemoryError : public Error {
 public:
  using Error::Error;
  ~OutOfMemoryError() override;
};

/// A verification found a wrong result.
class GRADUS_EXPORT VerificationError : public Error {
 public:
  using Error::Error;
  ~VerificationError() override;
  int exit_status() const noexcept override { return 5; }
};

/// The caller's stop request was honoured.
class GRADUS_EXPORT InterruptedError : public Error {
 public:
  using Error::Error;
  ~InterruptedError() override;
  int exit_status() const noexcept override { return 130; }
};

}  // namespace gradus
