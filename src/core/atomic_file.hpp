// Atomic output files: a file, or a set of files, appears completely or not at all.
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

/// A file under construction. The bytes go to a temporary file in the target's directory. commit() renames the
/// temporary file over the target in one step. Without commit(), the temporary file is removed. So no reader sees a
/// partial file. If the process is killed, a temporary file may stay; the next AtomicFile with the same target removes
/// it. On file systems with unnamed files (O_TMPFILE), no file stays.
///
/// Symbolic links are followed, and the permissions of an existing file are kept. If the target is not a regular file
/// (/dev/stdout, /dev/null, a pipe), the bytes go directly to the target.
///
/// Every failure throws gradus::Error with the path and the reason, including a full disk that is detected only at the
/// end. After a stop request, every step before the rename throws InterruptedError, even if bytes are being flushed to
/// the disk.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, std::stop_token stop = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Throws Error if the target's file system has less than `bytes` of free space. Ignores pipes and devices.
  void expect(std::uint64_t bytes) const;
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes all bytes to the disk, without renaming. Called by commit().
  void finish();
  /// Gives the file its final name.
  void commit();

  const std::string& path() const { return path_; }
  /// For a finished file of an OutputSet: size() returns its length, and checksum() its CRC-32 (as in zlib). With both,
  /// a reader can check the file.
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

  std::string path_;  ///< the caller's path
  std::stop_token stop_;
  std::string target_;  ///< the path with symbolic links resolved
  /// the file's present temporary name; empty if the file has no name yet, is written in place, or already has its
  /// final name
  std::string temporary_;
  int descriptor_ = -1;  ///< open until the file is committed; holds a lock that marks the temporary file as in use
  bool in_place_ = false;
  bool replaces_ = false;  ///< true if the target existed before
  bool finished_ = false;
  bool committed_ = false;
  bool summed_ = false;  ///< true if the checksum is computed
  std::uint64_t size_ = 0;
  std::uint32_t checksum_ = 0;
  std::vector<std::byte> buffer_;
};

/// The output files of a job, in one directory. They appear after all of them have been written. If the directory
/// contains no files with other names, they all appear in one step (see docs/decisions/0040-results-appear-whole.md).
/// The same step removes files of an earlier job that this job has not written, provided that their names are in
/// `names`. Missing directories are created. If the job fails, they are removed again.
class OutputSet {
 public:
  /// `names` lists all files that a job of this kind may write.
  OutputSet(std::string directory, std::vector<std::string> names, std::stop_token stop = {});
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet();

  /// Adds a file with one of the names. The reference stays valid. `bytes` is the size of the file, if known. Throws
  /// Error if the whole set does not fit on the disk.
  AtomicFile& add(std::string_view name, std::uint64_t bytes = 0);
  /// Makes `seal` the file that marks the set as complete; it is put in place last. If the files have to be replaced
  /// one by one, a file with the text `placeholder` first takes the place of the old seal.
  void set_seal(const AtomicFile& seal, std::string placeholder);
  /// Flushes every file to the disk, then puts all of them in place. If a step fails, removes the new files that
  /// already have their final names.
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
  std::vector<std::string> made_;  ///< directories that this object created, outermost first
  std::list<AtomicFile> files_;
  const AtomicFile* seal_ = nullptr;
  std::string placeholder_;
  std::uint64_t expected_ = 0;
  bool committed_ = false;
};

/// Writes `text` to the file `path` atomically.
void write_atomically(const std::string& path, std::string_view text);

/// Returns the CRC-32 (as in zlib and PNG) of data that consists of two parts. `before` is the CRC-32 of the first
/// part, and `bytes` is the second part.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gradus::core
