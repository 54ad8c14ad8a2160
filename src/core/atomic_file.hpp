// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::core {

/// A file under construction. The bytes go to a temporary file beside the target; commit() puts it in the target's
/// place in one step, and without commit() the destructor removes it, so that no reader ever sees half a file.
/// A symbolic link is followed, an existing file's permissions are kept. Where the target is no regular file
/// (/dev/stdout, /dev/null, a pipe) there is nothing to replace, and the bytes go straight to it.
///
/// Every failure, also a full disk found out only at the end, throws gradus::Error with the path and the reason. Until
/// the renaming a stop request ends all with InterruptedError, also while bytes are on their way to the disk.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, std::stop_token stop = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// All bytes are on the disk and the file is closed; only the renaming is left. Called by commit().
  void finish();
  /// The file stands under its name.
  void commit();

  const std::string& path() const { return path_; }
  const std::stop_token& stop() const { return stop_; }
  void honour_stop() const;

 private:
  friend class OutputSet;
  void write_out(const std::byte* data, std::size_t size);
  void bring_to_disk();
  void flush();
  void rename_into_place();
  void withdraw() noexcept;
  [[noreturn]] void fail(int error_number) const;

  std::string path_;  ///< as the caller named it
  std::stop_token stop_;
  std::string target_;     ///< with symbolic links resolved
  std::string temporary_;  ///< empty: written in place, or renamed already
  int descriptor_ = -1;
  bool in_place_ = false;
  bool replaces_ = false;  ///< the target existed before
  bool committed_ = false;
  std::vector<std::byte> buffer_;
};

/// The files of one job, in one directory: they appear when all of them have been written.
/// The directory (and its parents) are made if missing, and removed again if the job fails.
class OutputSet {
 public:
  explicit OutputSet(std::string directory, std::stop_token stop = {});
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet();

  /// A new file of the set; the reference stays valid.
  AtomicFile& add(std::string_view name);
  /// Every file is flushed to the disk first; then all are renamed, in the order of add(). If a renaming fails, the
  /// new files that already stand under their names are removed again.
  void commit();

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::stop_token stop_;
  std::vector<std::string> made_;  ///< directories that did not exist before, outermost first
  std::list<AtomicFile> files_;
  bool committed_ = false;
};

/// Writes `text` as the file `path`, in one go.
void write_atomically(const std::string& path, std::string_view text);

}  // namespace gradus::core
