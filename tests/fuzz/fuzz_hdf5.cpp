// Reads a dataset through a library whose answers are any bytes, in place of libhdf5. libhdf5 itself is not tested,
// because version 1.10 reads outside its buffers for some damaged files. The reader must find rows that are in the file
// or that the library loads, or throw an error. It must give the library enough memory for the rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "core/shared_library.hpp"
#include "files/points_format.hpp"
#include "fuzz_points.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

extern constinit const PointsFormat hdf5_points;

namespace {

using Handle = std::int64_t;
using Size = unsigned long long;

std::span<const std::uint8_t> input;

/// Returns the next bytes of the input as an integer; 0 after the end.
template <class T>
T next() {
  T value = 0;
  const std::size_t size = std::min(sizeof value, input.size());
  if (size > 0) std::memcpy(&value, input.data(), size);
  input = input.subspan(size);
  return value;
}

/// Returns a size, which is small in most cases.
Size next_size() { return next<std::uint8_t>() < 224 ? next<std::uint8_t>() : next<Size>(); }

/// The facts that the library states about the only dataset. They do not change, as the facts of a file do not.
struct Facts {
  std::size_t file_bytes = next<std::uint16_t>() % 8192;
  int dimensions = next<std::uint8_t>() % 5 - 1;
  std::array<Size, 32> shape{next_size(), next_size(), next_size()};
  int layout = next<std::uint8_t>() % 6 - 1;
  std::array<Size, 3> chunk{next_size(), next_size(), next_size()};
  int chunk_dimensions = next<std::uint8_t>() % 4 - 1;
  Size offset = next_size();
  Size stored = next<std::uint8_t>() % 4 == 0 ? next_size() : 1;
  int external = next<std::uint8_t>() % 8 == 7;
  int type_class = next<std::uint8_t>() % 12 - 1;
  std::size_t type_size = std::size_t{1} << next<std::uint8_t>() % 5;
  int order = next<std::uint8_t>() % 4 - 1;
  int sign = next<std::uint8_t>() % 3 - 1;
  bool is_padded = next<std::uint8_t>() % 16 == 15;
  std::uint8_t failing = next<std::uint8_t>();  ///< bit mask of calls that fail
  Size bad_row = next_size();
  Size selected = 0;
  Size first = 0;
  Size rows = 0;
  Size columns = 1;
};
Facts* facts = nullptr;

bool fails(int call) { return (facts->failing >> call & 1) != 0; }
template <int call>
Handle handle_of(Handle) {
  return fails(call) ? -1 : 7;
}
template <int call>
Handle open_in(Handle, const char* name, Handle) {
  return fails(call) && std::string_view(name) != "/x" ? -1 : 7;
}
std::size_t field(std::size_t sign, std::size_t half, std::size_t single, std::size_t wide) {
  return sign == 16 ? half : sign == 32 ? single : wide;
}

/// Returns the function with this name.
void* function_named(const std::string& name) {
  static const std::map<std::string, void*> functions = [] {
    std::map<std::string, void*> all;
    const auto put = [&](const char* key, auto* function) { all[key] = reinterpret_cast<void*>(function); };
    put(
        "H5get_libversion", +[](unsigned* major, unsigned* minor, unsigned* release) {
          *major = 1, *minor = 10, *release = 8;
          return 0;
        });
    put(
        "H5Eset_auto2", +[](Handle, void*, void*) { return 0; });
    put(
        "H5Ewalk2", +[](Handle, int, void*, void*) { return 0; });
    put(
        "H5Idec_ref", +[](Handle) { return 0; });
    put(
        "H5Iget_type", +[](Handle) { return 5; });
    put(
        "H5Fopen", +[](const char*, unsigned, Handle) { return fails(0) ? Handle{-1} : Handle{7}; });
    put("H5Oopen", open_in<1>);
    put(
        "H5Lvisit", +[](Handle, int, int, int (*visit)(Handle, const char*, const int*, void*), void* data) {
          const int hard = 0;
          return visit(7, "x", &hard, data);
        });
    put("H5Dget_space", handle_of<2>);
    put("H5Dget_type", handle_of<3>);
    put("H5Dget_create_plist", handle_of<4>);
    put(
        "H5Dget_offset", +[](Handle) { return facts->offset; });
    put(
        "H5Dget_storage_size", +[](Handle) {
          return facts->stored == 1
                     ? facts->shape[0] * (facts->dimensions == 2 ? facts->shape[1] : 1) * facts->type_size
                     : facts->stored;
        });
    put(
        "H5Sget_simple_extent_ndims", +[](Handle) { return facts->dimensions; });
    put(
        "H5Sget_simple_extent_dims", +[](Handle, Size* sizes, Size*) {
          if (facts->dimensions > 0) std::copy_n(facts->shape.begin(), facts->dimensions, sizes);
          return facts->dimensions;
        });
    put(
        "H5Screate_simple", +[](int dimensions, const Size* sizes, const Size*) {
          if (dimensions != facts->dimensions) std::abort();
          facts->rows = sizes[0];
          facts->columns = dimensions == 2 ? sizes[1] : 1;
          return Handle{7};
        });
    put(
        "H5Sselect_hyperslab", +[](Handle, int, const Size* begin, const Size*, const Size* size, const Size*) {
          if (begin[0] + size[0] > facts->shape[0] || size[0] != facts->rows) std::abort();
          facts->first = begin[0];
          return 0;
        });
    put(
        "H5Dread", +[](Handle, Handle, Handle, Handle, Handle, void* to) {
          std::memset(to, 1, facts->rows * facts->columns * facts->type_size);
          return facts->bad_row >= facts->first && facts->bad_row < facts->first + facts->rows ? -1 : 0;
        });
    put(
        "H5Pget_layout", +[](Handle) { return facts->layout; });
    put(
        "H5Pget_chunk", +[](Handle, int most, Size* sizes) {
          std::copy_n(facts->chunk.begin(), std::clamp(facts->chunk_dimensions, 0, most), sizes);
          return facts->chunk_dimensions;
        });
    put(
        "H5Pget_external_count", +[](Handle) { return facts->external; });
    put(
        "H5Tget_class", +[](Handle) { return facts->type_class; });
    put(
        "H5Tget_size", +[](Handle) { return facts->type_size; });
    put(
        "H5Tget_order", +[](Handle) { return facts->order; });
    put(
        "H5Tget_sign", +[](Handle) { return facts->sign; });
    put(
        "H5Tget_precision", +[](Handle) { return 8 * facts->type_size - (facts->is_padded ? 1 : 0); });
    put(
        "H5Tget_fields", +[](Handle, std::size_t* sign, std::size_t* exponent, std::size_t* exponent_bits,
                             std::size_t* fraction, std::size_t* fraction_bits) {
          const std::size_t bits = 8 * facts->type_size;
          *sign = bits - 1;
          *exponent = *fraction_bits = field(bits, facts->is_padded ? 7 : 10, 23, 52);
          *exponent_bits = field(bits, facts->is_padded ? 8 : 5, 8, 11);
          *fraction = 0;
          return 0;
        });
    put(
        "H5Tget_ebias", +[](Handle) { return field(8 * facts->type_size, facts->is_padded ? 127 : 15, 127, 1023); });
    put(
        "H5Tget_nmembers", +[](Handle) { return 2; });
    put(
        "H5Tget_member_index", +[](Handle, const char* name) { return std::string_view(name) == "TRUE" ? 1 : 0; });
    put(
        "H5Tget_member_value", +[](Handle, unsigned index, void* value) {
          *static_cast<signed char*>(value) = static_cast<signed char>(index);
          return 0;
        });
    return all;
  }();
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

void parse(std::span<const std::byte> bytes, const std::string& path) {
  try {
    const std::optional<RowsInFile> all = hdf5_points.rows_in(bytes, path, {});
    if (!all || all->columns < 1) std::abort();
    constexpr std::int64_t most_bytes = std::int64_t{1} << 20;
    const std::int64_t rows = std::min(all->rows, most_bytes / all->row_bytes);
    read_rows_of(*all, 0, rows);
    read_rows_of(*all, 0, rows / 2);
    read_rows_of(*all, all->rows - rows, all->rows);
    if (all->is_stored()) (void)all->view(rows / 2, rows, path, {}, {});
  } catch (const Error&) {
    // expected for impossible facts
  }
}

}  // namespace

}  // namespace gradus::files

// The linker takes these functions in place of the library's.
namespace gradus::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> files) : handle_(this), file_(*files.begin()) {}
void* SharedLibrary::find(const char* name) const { return files::function_named(name); }

}  // namespace gradus::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradus::files;
  for (const char* const path : {"input.h5", "input.hdf5:/x"}) {
    input = {data, size};
    Facts own;
    facts = &own;
    std::string file = "\x89HDF\r\n\x1a\n";
    file.resize(std::max(file.size(), own.file_bytes));
    file.shrink_to_fit();
    parse(std::as_bytes(std::span(file)), path);
  }
  return 0;
}
