#include "files/npz.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/array_path.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/npy.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

constexpr std::string_view ending = ".npz";
constexpr std::string_view array_ending = ".npy";

// The signatures and sizes of the archive's records.
constexpr std::uint32_t local_header = 0x04034b50;
constexpr std::size_t local_size = 30;
constexpr std::uint32_t directory_entry = 0x02014b50;
constexpr std::size_t entry_size = 46;
constexpr std::uint32_t directory_end = 0x06054b50;
constexpr std::size_t end_size = 22;
constexpr std::uint32_t locator_64 = 0x07064b50;
constexpr std::size_t locator_size = 20;
constexpr std::uint32_t directory_end_64 = 0x06064b50;
constexpr std::size_t end_size_64 = 56;

constexpr std::uint64_t none_32 = 0xffffffffu;  ///< the number is in another field, which has 64 bits

struct Entry {
  std::string_view name;
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  std::uint64_t checksum = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

class Archive {
 public:
  Archive(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) { read_directory(); }

  /// Returns the .npy files of the archive. Their names lack the ending.
  const std::vector<Entry>& arrays() const { return arrays_; }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError("'" + std::string(name_) + "': " + what, fields_of_file(name_));
  }

  /// Returns the compressed bytes of an entry.
  std::span<const std::byte> packed(const Entry& entry) const {
    if (entry.offset > directory_ || directory_ - entry.offset < local_size || number(entry.offset, 4) != local_header)
      refuse(about(entry) + "does not begin where the archive's directory says");
    const std::uint64_t names = number(entry.offset + 26, 2) + number(entry.offset + 28, 2);
    const std::uint64_t left = directory_ - entry.offset - local_size;
    if (names > left || entry.packed > left - names) refuse(about(entry) + "extends beyond its end");
    return bytes_.subspan(entry.offset + local_size + names, entry.packed);
  }

  static std::string about(const Entry& entry) { return "the array " + core::excerpt(entry.name) + " "; }

 private:
  /// Returns a little-endian number. The caller has checked the bounds.
  std::uint64_t number(std::uint64_t at, std::size_t length) const {
    std::uint64_t value = 0;
    for (std::size_t index = length; index-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at + index]);
    return value;
  }
  std::string_view text(std::uint64_t at, std::uint64_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }

  /// Finds the end record. Only a comment may follow the record. The record contains the length of this comment.
  std::uint64_t find_end() const {
    constexpr std::size_t longest_comment = 0xffff;
    if (bytes_.size() < end_size) refuse("the ZIP archive ends within its first 22 bytes");
    const std::size_t last = bytes_.size() - end_size;
    const std::size_t first = last - std::min(last, longest_comment);
    for (std::size_t at = last + 1; at-- > first;)
      if (number(at, 4) == directory_end && number(at + 20, 2) == last - at) return at;
    refuse("the ZIP archive has no directory at its end: it is cut off, or something follows it");
  }

  void read_directory() {
    const std::uint64_t end = find_end();
    std::uint64_t count = number(end + 10, 2);
    std::uint64_t size = number(end + 12, 4);
    directory_ = number(end + 16, 4);
    std::uint64_t limit = end;
    const bool large = count == 0xffff || size == none_32 || directory_ == none_32;
    if (large && end >= locator_size && number(end - locator_size, 4) == locator_64) {
      const std::uint64_t at = number(end - locator_size + 8, 8);
      limit = end - locator_size;
      if (at > limit || limit - at < end_size_64 || number(at, 4) != directory_end_64)
        refuse("the ZIP64 archive's directory is not where its end says");
      count = number(at + 32, 8);
      size = number(at + 40, 8);
      directory_ = number(at + 48, 8);
      limit = at;
    }
    if (directory_ > limit || size > limit - directory_)
      refuse("the ZIP archive's directory extends beyond the end of the file");
    const std::uint64_t stop = directory_ + size;
    std::uint64_t at = directory_;
    for (std::uint64_t entry = 0; entry < count; ++entry) at = read_entry(at, stop);
  }

  /// Reads an entry of the directory and returns the position of the next entry.
  std::uint64_t read_entry(std::uint64_t at, std::uint64_t stop) {
    if (stop - at < entry_size || number(at, 4) != directory_entry) refuse("the ZIP archive's directory is damaged");
    const std::uint64_t name_size = number(at + 28, 2);
    const std::uint64_t extra_size = number(at + 30, 2);
    const std::uint64_t comment_size = number(at + 32, 2);
    if (stop - at - entry_size < name_size + extra_size + comment_size)
      refuse("the ZIP archive's directory is damaged");
    Entry entry{.name = text(at + entry_size, name_size),
                .method = number(at + 10, 2),
                .flags = number(at + 8, 2),
                .checksum = number(at + 16, 4),
                .packed = number(at + 20, 4),
                .size = number(at + 24, 4),
                .offset = number(at + 42, 4)};
    read_large_sizes(entry, at + entry_size + name_size, at + entry_size + name_size + extra_size);
    if (entry.name.ends_with(array_ending)) {
      entry.name.remove_suffix(array_ending.size());
      arrays_.push_back(entry);
    }
    return at + entry_size + name_size + extra_size + comment_size;
  }

  /// Reads those numbers of an entry that need 64 bits. An extra field of the entry contains them, in a fixed order.
  void read_large_sizes(Entry& entry, std::uint64_t at, std::uint64_t stop) const {
    while (stop - at >= 4) {
      const std::uint64_t kind = number(at, 2);
      const std::uint64_t length = number(at + 2, 2);
      at += 4;
      if (length > stop - at) refuse("the ZIP archive's directory is damaged");
      if (kind == 1) {
        std::uint64_t place = at;
        for (std::uint64_t* const value : {&entry.size, &entry.packed, &entry.offset}) {
          if (*value != none_32) continue;
          if (at + length - place < 8) refuse("the ZIP64 archive's directory is damaged");
          *value = number(place, 8);
          place += 8;
        }
        return;
      }
      at += length;
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::uint64_t directory_ = 0;  ///< position of the directory
  std::vector<Entry> arrays_;
};

constexpr std::size_t bytes_between_looks = std::size_t{1} << 22;

std::uint64_t checksum_of(std::span<const std::byte> bytes, std::string_view name, const std::stop_token& stop) {
  uLong checksum = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    const std::size_t piece = std::min(bytes.size(), bytes_between_looks);
    checksum = ::crc32(checksum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(piece));
    bytes = bytes.subspan(piece);
  }
  return checksum;
}

/// Decompresses `packed` into `into`. Returns true if the decompressed data fills `into` exactly.
bool inflate_all(std::span<const std::byte> packed, std::span<std::byte> into, std::string_view name,
                 const std::stop_token& stop) {
  z_stream stream{};
  constexpr int no_header = -15;
  if (::inflateInit2(&stream, no_header) != Z_OK)
    throw OutOfMemoryError("cannot unpack '" + std::string(name) + "': out of memory");
  const struct Ending {
    z_stream* stream;
    ~Ending() { ::inflateEnd(stream); }
  } at_end{&stream};
  std::byte beyond{};  // space for one more byte, to detect excess data
  std::size_t read = 0;
  std::size_t written = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    const bool full = written == into.size();
    const std::size_t room = full ? 1 : std::min(into.size() - written, bytes_between_looks);
    const std::size_t piece = std::min(packed.size() - read, bytes_between_looks);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data())) + read;
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : into.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw OutOfMemoryError("cannot unpack '" + std::string(name) + "': out of memory");
    if (status != Z_OK && status != Z_STREAM_END) return false;
    read += piece - stream.avail_in;
    written += room - stream.avail_out;
    if (written > into.size()) return false;
  }
  return read == packed.size() && written == into.size();
}

/// Returns true if the arrays are a matrix written by scipy.sparse.save_npz.
bool are_a_sparse_matrix(const std::vector<Entry>& arrays) {
  return std::ranges::all_of(std::initializer_list<std::string_view>{"format", "shape", "data"},
                             [&](auto name) { return std::ranges::find(arrays, name, &Entry::name) != arrays.end(); });
}

const Entry& choose(const Archive& archive, std::string_view file, std::string_view array) {
  const std::vector<Entry>& arrays = archive.arrays();
  if (array.empty() && are_a_sparse_matrix(arrays))
    archive.refuse(
        "a sparse matrix of scipy.sparse.save_npz; dense arrays can be read: "
        "numpy.save('dense.npy', scipy.sparse.load_npz(file).toarray()) makes one");
  std::vector<std::string_view> names;
  for (const Entry& entry : arrays) names.push_back(entry.name);
  return arrays[choose_array(names, file, array)];
}

}  // namespace

bool looks_like_zip(std::span<const std::byte> bytes) {
  constexpr std::string_view magic = "PK\x03\x04";
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), reinterpret_cast<const char*>(bytes.data()));
}

ArrayBytes find_npz_array(std::span<const std::byte> bytes, std::string_view name, std::string_view array,
                          const std::shared_ptr<const void>& owner, const std::stop_token& stop) {
  // An archive without arrays may be a workbook or a model. An archive of arrays may be a sparse matrix.
  const ForeignFormat* const format = array.empty() ? foreign_format(as_text(bytes), "") : nullptr;
  if (format != nullptr && !format->has_name("x.npz"))
    refuse_foreign(as_text(bytes), std::string(name), Reader::points);
  if (!looks_like_zip(bytes))
    throw InputError("'" + std::string(name) + "': not a .npz file: it is no ZIP archive", fields_of_file(name));
  const Archive archive(bytes, name);
  const Entry& entry = choose(archive, name, array);
  ArrayBytes found{.bytes = archive.packed(entry), .owner = owner, .name = std::string(name) + ":"};
  found.name += core::without_control(entry.name);
  if ((entry.flags & 1) != 0) archive.refuse(Archive::about(entry) + "is encrypted");
  constexpr std::uint64_t stored = 0;
  constexpr std::uint64_t deflated = 8;
  if (entry.method != stored && entry.method != deflated)
    archive.refuse(Archive::about(entry) +
                   "is packed by a method that is not read; np.savez and np.savez_compressed "
                   "write those that are");
  if (entry.method == stored) {
    if (entry.size != entry.packed) archive.refuse(Archive::about(entry) + "is damaged: its two sizes differ");
  } else {
    // Deflate encodes at most 258 bytes in two bits.
    constexpr std::uint64_t most_expansion = 1032;
    if (entry.size / most_expansion > entry.packed)
      archive.refuse(Archive::about(entry) + "claims to unpack to " + core::size_text(entry.size) + ", more than " +
                     core::size_text(entry.packed) + " of packed data can hold");
    // The memory is not initialised, because the decompression writes each byte once.
    auto memory = std::shared_ptr<std::byte[]>(new (std::nothrow) std::byte[std::max<std::uint64_t>(entry.size, 1)]);
    if (!memory)
      throw OutOfMemoryError("cannot unpack '" + found.name + "': no memory for " + core::size_text(entry.size));
    if (!inflate_all(found.bytes, {memory.get(), entry.size}, name, stop))
      archive.refuse(Archive::about(entry) +
                     "is damaged: its packed data do not give the bytes that the archive's directory "
                     "promises");
    found.bytes = {memory.get(), entry.size};
    found.owner = std::move(memory);
  }
  if (checksum_of(found.bytes, name, stop) != entry.checksum)
    archive.refuse(Archive::about(entry) + "is damaged: its checksum is another one");
  return found;
}

namespace {

ArrayBytes array_in(const std::string& path, const std::stop_token& stop) {
  const ArrayPath named = *array_path(path, ending);
  const auto file = std::make_shared<const MappedFile>(named.file, Access::repeated);
  return find_npz_array(file->bytes(), named.file, named.array, file, stop);
}

}  // namespace

extern constinit const PointsFormat npz_points{
    .file = {.name = "archive of NumPy arrays",
             .endings = ending,
             .rules =
                 "An archive of `.npy` arrays as `np.savez` and `np.savez_compressed` write it, also beyond 4 GiB; "
                 "`data.npz:name` says which array, where there are several. Sizes and checksums are checked",
             .may_be_packed = false},
    .has_arrays = true,
    .recognises = looks_like_zip,
    .read =
        [](const std::string& path, const ReadOptions& options) {
          const ArrayBytes array = array_in(path, options.stop);
          return to_points(parse_npy(array.bytes, array.name, array.owner, options.stop));
        },
    .read_tensor =
        [](const std::string& path, const std::stop_token& stop) {
          const ArrayBytes array = array_in(path, stop);
          return parse_npy_tensor(array.bytes, array.name, array.owner, stop);
        },
    .in_stream = [](const ArrayBytes& all,
                    const std::stop_token& stop) { return find_npz_array(all.bytes, all.name, "", all.owner, stop); },
};

}  // namespace gradus::files
