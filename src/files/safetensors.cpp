// Reads the format of Hugging Face for tensors: the size of a header (uint64), a header in JSON, and then the elements.
// https://huggingface.co/docs/safetensors
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/npz.hpp"
#include "core/text.hpp"
#include "files/array_path.hpp"
#include "files/elements.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/header_cursor.hpp"
#include "files/points_format.hpp"

namespace gradus::files {

namespace {

constexpr std::string_view safetensors_ending = ".safetensors";
constexpr std::size_t size_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t largest_header = 100'000'000;  // the limit of the Rust library

struct StoredTensor {
  std::string_view name;
  std::string_view dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< position of the first byte, counted from the end of the header
  std::int64_t end = 0;
};

/// Parses the header. Its depth is fixed: an object of tensors, which are objects of strings and lists of integers.
/// Escapes in names are not decoded, because messages show names with their escapes.
class SafetensorsHeader : HeaderCursor {
 public:
  SafetensorsHeader(std::string_view text, std::string_view name)
      : HeaderCursor(text, size_bytes, name, safetensors_ending) {}

  std::vector<StoredTensor> parse() {
    std::vector<StoredTensor> tensors;
    std::set<std::string_view> names;
    for_members([&](std::string_view name, std::size_t start) {
      if (!names.insert(name).second) fail(start, "the name " + core::excerpt(name) + " stands there twice");
      if (name == "__metadata__") for_members([&](std::string_view, std::size_t) { (void)string(quote); });
      else tensors.push_back(tensor(name));
    });
    skip_blanks();
    if (!at_end()) fail(position(), "text follows the closing brace");
    return tensors;
  }

 private:
  static constexpr std::string_view quote = "\"";

  /// For each member of an object, calls `read` with the key and the key's position. `read` must consume the value.
  template <class Read>
  void for_members(const Read& read) {
    expect('{');
    if (accept('}')) return;
    do {
      skip_blanks();
      const std::size_t start = position();
      const std::string_view key = string(quote);
      expect(':');
      read(key, start);
    } while (accept(','));
    expect('}');
  }

  StoredTensor tensor(std::string_view name) {
    std::optional<std::string_view> dtype;
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<std::vector<std::int64_t>> offsets;
    for_members([&](std::string_view key, std::size_t start) {
      if (key == "dtype" && !dtype) dtype = string(quote);
      else if (key == "shape" && !shape) shape = integers("dimension");
      else if (key == "data_offsets" && !offsets) offsets = integers("byte");
      else fail(start, "the key " + core::excerpt(key) + " is unknown or stands there twice");
    });
    const char* const missing = !dtype ? "dtype" : !shape ? "shape" : !offsets ? "data_offsets" : nullptr;
    if (missing) fail(position(), "the key '" + std::string(missing) + "' is missing");
    if (offsets->size() != 2 || offsets->front() > offsets->back())
      fail(position(), "two ascending bytes are expected in 'data_offsets'");
    return {name, *dtype, std::move(*shape), offsets->front(), offsets->back()};
  }

  std::vector<std::int64_t> integers(const std::string& noun) {
    std::vector<std::int64_t> result;
    expect('[');
    if (accept(']')) return result;
    do result.push_back(integer(noun));
    while (accept(','));
    expect(']');
    return result;
  }
};

/// Returns the tensor's element type, or null if this type is not supported.
const ElementKind<Reals>* kind_of(const StoredTensor& tensor) {
  constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"F64", "f8"}, {"F32", "f4"}, {"F16", "f2"}, {"BF16", "bf16"}, {"I64", "i8"}, {"I32", "i4"}, {"I16", "i2"},
      {"I8", "i1"},  {"U64", "u8"}, {"U32", "u4"}, {"U16", "u2"},    {"U8", "u1"},  {"BOOL", "b1"}};
  const auto* const found = std::ranges::find(types, tensor.dtype, [](const auto& type) { return type.first; });
  return found == std::end(types) ? nullptr : element_kind<Reals>(found->second);
}

class SafetensorsFile {
 public:
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name) : name_(name) {
    const bool is_likely =
        bytes.size() > size_bytes && bytes[size_bytes] == std::byte{'{'} && header_size(bytes) >> 32 == 0;
    if (!is_likely) refuse_foreign(as_text(bytes), name, Reader::points);
    if (!is_likely)
      refuse("not a .safetensors file: it does not begin with the size of a header in JSON", 0,
             "check the ending of its name");
    const std::uint64_t size = header_size(bytes);
    const std::uint64_t left = bytes.size() - size_bytes;
    if (size > std::min(left, largest_header))
      refuse("the header claims to take " + std::to_string(size) + " bytes, but at most " +
                 std::to_string(std::min(left, largest_header)) + " are possible here",
             0);
    data_begin_ = size_bytes + size;
    data_ = bytes.subspan(data_begin_);
    tensors_ = SafetensorsHeader(as_text(bytes.subspan(size_bytes, size)), name).parse();
    for (const StoredTensor& tensor : tensors_) check(tensor);
    check_order();
  }

  /// Returns the rows of the tensor with this name. If the name is empty, returns the rows of the only tensor.
  RowsInFile rows(std::string_view array) const {
    std::vector<std::string_view> names;
    for (const StoredTensor& tensor : tensors_) names.push_back(tensor.name);
    const StoredTensor& tensor = tensors_[choose_array(names, name_, array)];
    const ElementKind<Reals>* const kind = kind_of(tensor);
    if (kind == nullptr)
      refuse_tensor(tensor,
                    "has values of type " + core::excerpt(tensor.dtype) +
                        "; F16, BF16, F32, F64, I8 to I64, U8 to U64 and BOOL can be read",
                    "convert it, for example by tensor.to(torch.float32)");
    if (tensor.shape.empty() || tensor.shape.size() > 2 || (tensor.shape.size() == 2 && tensor.shape[1] == 0))
      refuse_tensor(tensor,
                    "has the shape " + core::shape_text(tensor.shape) +
                        "; one or two dimensions, and at least one column, are expected",
                    "reshape it, for example by tensor.reshape(len(tensor), -1)");
    const std::int64_t columns = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    return {.data = data_.subspan(static_cast<std::size_t>(tensor.begin),
                                  static_cast<std::size_t>(tensor.end - tensor.begin)),
            .rows = tensor.shape[0],
            .columns = columns,
            .row_bytes = columns * static_cast<std::int64_t>(kind->bytes),
            .kind = kind};
  }

 private:
  static std::uint64_t header_size(std::span<const std::byte> bytes) {
    std::uint64_t size;
    std::memcpy(&size, bytes.data(), sizeof size);
    return size;
  }

  [[noreturn]] void refuse(const std::string& what, std::size_t byte,
                           const std::string& remedy = "copy the file again") const {
    ErrorFields fields = fields_at_byte(name_, byte);
    fields.remedy = remedy;
    throw InputError("'" + std::string(name_) + "': " + what, fields);
  }

  [[noreturn]] void refuse_tensor(const StoredTensor& tensor, const std::string& what,
                                  const std::string& remedy = "copy the file again") const {
    const std::size_t byte = data_begin_ + static_cast<std::size_t>(tensor.begin);
    refuse("the tensor " + core::excerpt(tensor.name) + " (byte " + std::to_string(byte) + ") " + what, byte, remedy);
  }

  void check(const StoredTensor& tensor) const {
    if (static_cast<std::uint64_t>(tensor.end) > data_.size())
      refuse("the tensor " + core::excerpt(tensor.name) + " ends at byte " + std::to_string(tensor.end) +
                 " after the header, but the file has only " + std::to_string(data_.size()) + " bytes there",
             data_begin_);
    const ElementKind<Reals>* const kind = kind_of(tensor);
    if (kind == nullptr) return;  // a tensor of an unsupported type is an error only when it is read
    auto bytes = static_cast<std::int64_t>(kind->bytes);
    bool overflows = false;
    for (const std::int64_t size : tensor.shape) overflows = __builtin_mul_overflow(bytes, size, &bytes) || overflows;
    if (overflows)
      refuse_tensor(tensor, "has the shape " + core::shape_text(tensor.shape) + ", which overflows 64 bits");
    if (bytes != tensor.end - tensor.begin)
      refuse_tensor(tensor, "of shape " + core::shape_text(tensor.shape) + " and type " + core::excerpt(tensor.dtype) +
                                " takes " + std::to_string(bytes) + " bytes, but its offsets give it " +
                                std::to_string(tensor.end - tensor.begin));
  }

  /// Checks that the tensors fill the data without gaps and overlaps. The format requires this.
  void check_order() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    for (const StoredTensor& tensor : tensors_) parts.emplace_back(tensor.begin, tensor.end);
    parts.emplace_back(data_.size(), data_.size());
    std::ranges::sort(parts);
    std::int64_t end = 0;
    for (const auto& part : parts) {
      if (part.first != end) {
        const std::size_t byte = data_begin_ + static_cast<std::size_t>(std::min(end, part.first));
        refuse("the bytes from " + std::to_string(byte) + " on belong to " +
                   (part.first > end ? "no tensor" : "several tensors"),
               byte);
      }
      end = part.second;
    }
  }

  std::string_view name_;
  std::size_t data_begin_ = 0;
  std::span<const std::byte> data_;
  std::vector<StoredTensor> tensors_;
};

std::optional<RowsInFile> safetensors_rows(std::span<const std::byte> bytes, const std::string& path,
                                           const std::stop_token&) {
  const ArrayPath named = *array_path(path, safetensors_ending);
  return SafetensorsFile(bytes, named.file).rows(named.array);
}

}  // namespace

extern constinit const PointsFormat safetensors_points{
    .file =
        {.name = "safetensors",
         .endings = safetensors_ending,
         .rules =
             "Tensors of one dimension (n × 1) or two; `model.safetensors:name` says which one, where there are "
             "several. "
             "`F32` and `F64` are memory-mapped and not copied if they are aligned. `F16`, `BF16`, `I8`, `I16`, `U8`, "
             "`U16` and `BOOL` are widened to `f32`; `I32`, `U32`, `I64`, `U64` to `f64`. Integers beyond 2^53 that a "
             "double cannot represent are refused. All offsets are checked",
         .may_be_packed = false},
    .has_arrays = true,
    .rows_in = safetensors_rows,
};

}  // namespace gradus::files
