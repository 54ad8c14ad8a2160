// Files that appear whole or not at all, alone or as a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::core {

/// A file under construction. The bytes go to a temporary file in the target's folder; commit() puts it in the target's
/// place in one step, and without commit() nothing of it is left, so that no reader ever sees half a file. Where the
/// file system has unnamed files (O_TMPFILE) that holds for a killed process too; elsewhere the next AtomicFile of the
/// same target removes what it left.
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

  /// Error where the target's file system has less room than the `bytes` that will be written. Nothing is known of the
  /// room behind a pipe or a device.
  void expect(std::uint64_t bytes) const;
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// All bytes are on the disk; only the name is missing. Called by commit().
  void finish();
  /// The file stands under its name.
  void commit();

  const std::string& path() const { return path_; }
  /// What a reader can check a finished file of an OutputSet by: its length, and the CRC-32 of its bytes (that of
  /// zlib).
  std::uint64_t size() const { return size_; }
  std::uint32_t checksum() const { return checksum_; }
  const std::stop_token& stop() const { return stop_; }
  void honour_stop() const;

 private:
  friend class OutputSet;
  void write_out(const std::byte* data, std::size_t size);
  void bring_to_disk();
  void flush();
  void open_in_place(bool is_pipe);
  void make_temporary();
  void give_name(const std::string& path);
  void put_in_place();
  void arrived();
  void withdraw() noexcept;
  [[noreturn]] void fail(int error_number) const;

  std::string path_;  ///< as the caller named it
  std::stop_token stop_;
  std::string target_;     ///< with symbolic links resolved
  std::string temporary_;  ///< empty: it has no name yet, is written in place, or stands under its own name
  int descriptor_ = -1;    ///< until it is committed; holds a lock that tells that the temporary file is in use
  bool in_place_ = false;
  bool replaces_ = false;  ///< the target existed before
  bool finished_ = false;
  bool committed_ = false;
  bool summed_ = false;  ///< the checksum is wanted
  std::uint64_t size_ = 0;
  std::uint32_t checksum_ = 0;
  std::vector<std::byte> buffer_;
};

/// The files of one job, in one folder: they appear when all of them have been written, all in one step where the
/// folder holds nothing else (see docs/decisions/0040-results-appear-whole.md). What an earlier job left under the
/// names that this one could have written, but did not, is removed in the same step.
/// The folder (and its parents) are made if missing, and removed again if the job fails.
class OutputSet {
 public:
  /// `names`: of all files that such a job may write.
  OutputSet(std::string directory, std::vector<std::string> names, std::stop_token stop = {});
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet();

  /// A new file of the set, one of the names; the reference stays valid. `bytes`: its size where that is known; Error
  /// where there is no room for all of the set.
  AtomicFile& add(std::string_view name, std::uint64_t bytes = 0);
  /// The file that vouches for the set comes last where the files must be put in place one by one. Until then a file of
  /// this content stands under its name.
  void set_seal(const AtomicFile& seal, std::string meanwhile);
  /// Every file is flushed to the disk first; then all appear. If that fails, the new files that already stand under
  /// their names are removed again.
  void commit();

  const std::string& directory() const { return directory_; }

 private:
  bool is_known(std::string_view name) const;
  std::string path_of(std::string_view name) const;
  bool exchange_folder();
  void replace_one_by_one();
  void remove_unwritten() const;

  std::string directory_;
  std::vector<std::string> names_;
  std::stop_token stop_;
  std::vector<std::string> made_;  ///< directories that did not exist before, outermost first
  std::list<AtomicFile> files_;
  const AtomicFile* seal_ = nullptr;
  std::string meanwhile_;
  std::uint64_t expected_ = 0;
  bool committed_ = false;
};

/// Writes `text` as the file `path`, in one go.
void write_atomically(const std::string& path, std::string_view text);

/// The CRC-32 of zlib and PNG, for bytes that follow those of which `before` is the CRC-32.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gradus::core
