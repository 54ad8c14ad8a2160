// Reads datasets of HDF5 files. The library libhdf5 is opened at run time, so that only a user with such files needs
// it. A contiguous dataset is mapped into memory. The rows of other datasets are read through hyperslabs.
// https://support.hdfgroup.org/documentation/hdf5/latest
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file_state.hpp"
#include "core/npz.hpp"
#include "core/shared_library.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/array_path.hpp"
#include "files/elements.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/points_format.hpp"

namespace gradus::files {

namespace {

constexpr std::string_view hdf5_endings = ".h5 .hdf5 .hdf .he5";
constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";

/// The functions of libhdf5 that are used here, as hdf5.h of version 1.10 and later declares them.
struct Hdf5 {
  using Handle = std::int64_t;
  using Size = unsigned long long;
  struct ErrorEntry {
    Handle classes[3];
    unsigned line;
    const char* function;
    const char* file;
    const char* description;
  };
  /// `link` points to a structure that begins with the type of the link.
  using Visit = int(Handle group, const char* name, const int* link, void* data);
  using VisitError = int(unsigned number, const ErrorEntry* entry, void* data);
  static constexpr Handle defaults = 0;  // H5P_DEFAULT, H5E_DEFAULT, H5S_ALL
  enum Class { integer = 0, floating = 1, enumeration = 8 };
  enum Order { little = 0, big = 1 };
  enum Layout { contiguous = 1, chunked = 2, virtual_layout = 3 };
  static constexpr int dataset_handle = 5;  // H5I_DATASET
  static constexpr int hard_link = 0;       // H5L_TYPE_HARD

  core::SharedLibrary library{"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so.320", "libhdf5.so.310",
                              "libhdf5.so.200",        "libhdf5.so.103",        "libhdf5.so"};
  bool is_complete = static_cast<bool>(library);

  template <class Function>
  Function* find(const char* name) {
    Function* const function = library ? library.find<Function*>(name) : nullptr;
    is_complete = is_complete && function != nullptr;
    return function;
  }

  int (*get_version)(unsigned*, unsigned*, unsigned*) = find<int(unsigned*, unsigned*, unsigned*)>("H5get_libversion");
  int (*set_error_printer)(Handle, void*, void*) = find<int(Handle, void*, void*)>("H5Eset_auto2");
  int (*visit_errors)(Handle, int, VisitError*, void*) = find<int(Handle, int, VisitError*, void*)>("H5Ewalk2");
  int (*close)(Handle) = find<int(Handle)>("H5Idec_ref");
  int (*kind_of)(Handle) = find<int(Handle)>("H5Iget_type");
  Handle (*open_file)(const char*, unsigned, Handle) = find<Handle(const char*, unsigned, Handle)>("H5Fopen");
  Handle (*open_object)(Handle, const char*, Handle) = find<Handle(Handle, const char*, Handle)>("H5Oopen");
  int (*visit_links)(Handle, int, int, Visit*, void*) = find<int(Handle, int, int, Visit*, void*)>(
      library && library.find("H5Lvisit1") != nullptr ? "H5Lvisit1" : "H5Lvisit");
  Handle (*space_of)(Handle) = find<Handle(Handle)>("H5Dget_space");
  Handle (*type_of)(Handle) = find<Handle(Handle)>("H5Dget_type");
  Handle (*properties_of)(Handle) = find<Handle(Handle)>("H5Dget_create_plist");
  Size (*offset_of)(Handle) = find<Size(Handle)>("H5Dget_offset");
  Size (*stored_bytes)(Handle) = find<Size(Handle)>("H5Dget_storage_size");
  int (*read)(Handle, Handle, Handle, Handle, Handle,
              void*) = find<int(Handle, Handle, Handle, Handle, Handle, void*)>("H5Dread");
  int (*dimensions)(Handle) = find<int(Handle)>("H5Sget_simple_extent_ndims");
  int (*shape)(Handle, Size*, Size*) = find<int(Handle, Size*, Size*)>("H5Sget_simple_extent_dims");
  Handle (*make_space)(int, const Size*, const Size*) = find<Handle(int, const Size*, const Size*)>("H5Screate_simple");
  int (*select)(Handle, int, const Size*, const Size*, const Size*, const Size*) =
      find<int(Handle, int, const Size*, const Size*, const Size*, const Size*)>("H5Sselect_hyperslab");
  int (*layout)(Handle) = find<int(Handle)>("H5Pget_layout");
  int (*chunk)(Handle, int, Size*) = find<int(Handle, int, Size*)>("H5Pget_chunk");
  int (*external_files)(Handle) = find<int(Handle)>("H5Pget_external_count");
  int (*class_of)(Handle) = find<int(Handle)>("H5Tget_class");
  std::size_t (*size_of)(Handle) = find<std::size_t(Handle)>("H5Tget_size");
  int (*order)(Handle) = find<int(Handle)>("H5Tget_order");
  int (*sign)(Handle) = find<int(Handle)>("H5Tget_sign");
  std::size_t (*precision)(Handle) = find<std::size_t(Handle)>("H5Tget_precision");
  int (*fields)(Handle, std::size_t*, std::size_t*, std::size_t*, std::size_t*, std::size_t*) =
      find<int(Handle, std::size_t*, std::size_t*, std::size_t*, std::size_t*, std::size_t*)>("H5Tget_fields");
  std::size_t (*exponent_bias)(Handle) = find<std::size_t(Handle)>("H5Tget_ebias");
  int (*members)(Handle) = find<int(Handle)>("H5Tget_nmembers");
  int (*member_value)(Handle, unsigned, void*) = find<int(Handle, unsigned, void*)>("H5Tget_member_value");
  int (*member_index)(Handle, const char*) = find<int(Handle, const char*)>("H5Tget_member_index");

  /// Returns the functions. The first call opens the library. Throws UnsupportedError, which names `path`, if the
  /// library is missing or too old.
  static const Hdf5& functions(const std::string& path) {
    static const Hdf5 all;
    unsigned version[3] = {};
    if (all.is_complete) (void)all.get_version(&version[0], &version[1], &version[2]);
    if (version[0] > 1 || version[1] >= 10) return all;
    ErrorFields fields = fields_of_file(path);
    fields.code = error_code::not_supported;
    fields.remedy =
        "install it (Debian: libhdf5-103-1 or libhdf5-dev), or convert the dataset, " +
        advice_to_run("python3 -c \"import h5py, numpy; numpy.save('{out}.npy', h5py.File('{in}')['NAME'][()])\"",
                      path);
    throw UnsupportedError("'" + path +
                               "': an HDF5 file, for which the library libhdf5 from version 1.10 on is needed" +
                               (all.library ? ", but '" + all.library.file() + "' is older or incomplete"
                                            : " (" + all.library.why_not() + ")"),
                           fields);
  }
};

/// Exists during all calls of libhdf5, which need not be safe for threads. Keeps libhdf5 from printing errors.
class Calls {
 public:
  explicit Calls(const Hdf5& hdf5) : lock_(mutex()) {
    (void)hdf5.set_error_printer(Hdf5::defaults, nullptr, nullptr);  // libhdf5 may have a printer for each thread
  }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  std::lock_guard<std::mutex> lock_;
};

/// A reference to an object of libhdf5.
class Object {
 public:
  Object(const Hdf5& hdf5, Hdf5::Handle handle) : hdf5_(&hdf5), handle_(handle) {}
  Object(Object&& other) noexcept : hdf5_(other.hdf5_), handle_(std::exchange(other.handle_, -1)) {}
  Object& operator=(Object&&) = delete;
  ~Object() {
    if (handle_ >= 0) (void)hdf5_->close(handle_);
  }

  explicit operator bool() const { return handle_ >= 0; }
  Hdf5::Handle handle() const { return handle_; }

 private:
  const Hdf5* hdf5_;
  Hdf5::Handle handle_;
};

/// A dataset of an open file. All functions except the destructor must be called while a Calls exists.
class Dataset {
 public:
  /// `path` may name the dataset.
  Dataset(const Hdf5& hdf5, const std::string& path, const std::stop_token& stop)
      : hdf5_(hdf5), path_(path), place_(*array_path(path, hdf5_endings)), state_(core::state_of(place_.file)) {
    file_.emplace(hdf5, hdf5.open_file(place_.file.c_str(), 0, Hdf5::defaults));
    if (!*file_) refuse_damage("the file cannot be opened");
    const std::string name = place_.array.starts_with('/') ? place_.array : "/" + place_.array;
    if (!place_.array.empty()) dataset_.emplace(hdf5, hdf5.open_object(file_->handle(), name.c_str(), Hdf5::defaults));
    if (!dataset_ || !*dataset_ || hdf5.kind_of(dataset_->handle()) != Hdf5::dataset_handle) {
      dataset_.reset();
      dataset_.emplace(hdf5, hdf5.open_object(file_->handle(), listed_dataset(name, stop).c_str(), Hdf5::defaults));
      if (!*dataset_) refuse_damage("the dataset cannot be opened");
    }
  }
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  ~Dataset() {
    const Calls calls(hdf5_);
    dataset_.reset();
    file_.reset();
  }

  /// Returns the rows, without a function that loads them. `bytes` are the bytes of the file. A dataset whose rows are
  /// not in one piece gets no data.
  RowsInFile rows(std::span<const std::byte> bytes) const {
    RowsInFile all;
    const Object type(hdf5_, hdf5_.type_of(dataset_->handle()));
    if (!type) refuse_damage("the type of the values cannot be read");
    all.kind = kind_of(type.handle());
    if (all.kind == nullptr)
      refuse(
          "the values have a type that is not read; IEEE floating-point numbers of 16, 32 and 64 bits, bfloat16, "
          "integers of 8 to 64 bits and NumPy's bool can be read",
          "convert them, for example by astype('float32') in h5py");
    all.swap = all.kind->bytes > 1 && hdf5_.order(type.handle()) == Hdf5::big;
    set_shape(all);
    const Object properties(hdf5_, hdf5_.properties_of(dataset_->handle()));
    if (!properties) refuse_damage("the layout cannot be read");
    const int layout = hdf5_.layout(properties.handle());
    if (layout == Hdf5::virtual_layout || hdf5_.external_files(properties.handle()) > 0)
      refuse("the values are in other files, and HDF5 would replace missing ones without an error",
             "name these files one after the other");
    all.piece_rows = rows_in_piece(properties.handle(), layout == Hdf5::chunked, all, bytes.size());
    // Without stored bytes, all elements have the fill value.
    const Hdf5::Size stored = hdf5_.stored_bytes(dataset_->handle());
    if (layout == Hdf5::contiguous && stored > 0) {
      const Hdf5::Size begin = hdf5_.offset_of(dataset_->handle());
      const auto size = static_cast<std::uint64_t>(all.rows * all.row_bytes);
      if (begin > bytes.size() || size > bytes.size() - begin || stored != size)
        refuse("the header claims " + std::to_string(size) + " bytes from byte " + std::to_string(begin) +
                   " on, but the file has only " + std::to_string(bytes.size()) + " bytes and keeps " +
                   std::to_string(stored) + " for the dataset",
               "copy the file again");
      all.data = bytes.subspan(begin, size);
    }
    return all;
  }

  /// Copies the elements of the rows [first, last) to `to`, in the type of the file.
  void load(const RowsInFile& all, std::int64_t first, std::int64_t last, std::byte* to) const {
    if (std::optional<std::string> why = try_load(all, first, last, to)) {
      // Finds the first row that cannot be read.
      while (last - first > 1) {
        const std::int64_t middle = std::midpoint(first, last);
        std::optional<std::string> here = try_load(all, first, middle, to);
        (here ? last : first) = middle;
        if (here) why = std::move(here);
      }
      core::require_unchanged(place_.file, state_, path_);
      ErrorFields fields = fields_of_file(path_);
      fields.row = first;
      const std::string what =
          "'" + path_ + "': row " + std::to_string(first) + " (counted from 0) cannot be read" + *why;
      if (why->find("errno") == std::string::npos) {
        fields.remedy = damage_remedy;
        throw InputError(what, fields);
      }
      fields.code = error_code::cannot_read;
      throw Error(what, fields);
    }
    // If the file has become shorter, libhdf5 reads zeros.
    core::require_unchanged(place_.file, state_, path_);
  }

 private:
  static constexpr const char* damage_remedy =
      "copy the file again, or install a newer libhdf5; h5dump shows whether HDF5's own programs can read the file";

  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
    ErrorFields fields = fields_of_file(path_);
    fields.remedy = remedy;
    throw InputError("'" + path_ + "': " + what, fields);
  }
  [[noreturn]] void refuse_damage(const std::string& what) const { refuse(what + explanation(), damage_remedy); }

  /// Returns libhdf5's explanation of its last call, if it failed, as the end of a message.
  std::string explanation() const {
    std::string text;
    (void)hdf5_.visit_errors(
        Hdf5::defaults, 0,
        [](unsigned number, const Hdf5::ErrorEntry* entry, void* data) {
          if (number == 0 && entry->description != nullptr) *static_cast<std::string*>(data) = entry->description;
          return 0;
        },
        &text);
    return text.empty() ? "" : " (HDF5: " + core::without_control(text) + ")";
  }

  /// Returns the dataset of this name, or the only dataset if the path names none. Throws InputError with a list of all
  /// datasets if there is no such dataset.
  std::string listed_dataset(const std::string& wanted, const std::stop_token& stop) const {
    struct List {
      const Hdf5& hdf5;
      const std::stop_token& stop;
      std::vector<std::string> names;
    } list{hdf5_, stop, {}};
    const int status = hdf5_.visit_links(
        file_->handle(), 0, 0,
        [](Hdf5::Handle group, const char* name, const int* link, void* data) {
          auto& found = *static_cast<List*>(data);
          if (*link != Hdf5::hard_link) return 0;
          const Object object(found.hdf5, found.hdf5.open_object(group, name, Hdf5::defaults));
          // An object that cannot be opened is listed, so that the error is reported when it is chosen.
          if (!object || found.hdf5.kind_of(object.handle()) == Hdf5::dataset_handle)
            found.names.push_back("/" + std::string(name));
          return found.stop.stop_requested() ? 1 : 0;
        },
        &list);
    core::honour_stop(stop, "stopped while reading '" + path_ + "'");
    if (status < 0) refuse_damage("the datasets cannot be listed");
    const std::vector<std::string_view> names(list.names.begin(), list.names.end());
    return list.names[choose_array(names, place_.file, place_.array.empty() ? "" : std::string_view(wanted))];
  }

  static constexpr Hdf5::Size most_chunks = 4096;  ///< at a time, since libhdf5 needs kilobytes for each

  /// Returns the numbers of rows and columns of a chunk.
  std::pair<Hdf5::Size, Hdf5::Size> chunk_shape(Hdf5::Handle properties, bool is_chunked) const {
    std::array<Hdf5::Size, 3> chunk{1, 1, 1};
    if (is_chunked && hdf5_.chunk(properties, static_cast<int>(chunk.size()), chunk.data()) < 1)
      refuse_damage("the size of a chunk cannot be read");
    return {std::max<Hdf5::Size>(chunk[0], 1), std::max<Hdf5::Size>(chunk[1], 1)};
  }

  /// Returns the number of rows to read at a time: about 16 MiB, so that a stop request takes effect soon. Rows of a
  /// chunk are read together, so that a filter decodes each chunk once.
  std::int64_t rows_in_piece(Hdf5::Handle properties, bool is_chunked, const RowsInFile& all,
                             std::size_t file_bytes) const {
    constexpr Hdf5::Size piece_bytes = Hdf5::Size{1} << 24;
    constexpr Hdf5::Size greatest_ratio = 65536;  // of compression by a filter
    const auto [rows, columns] = chunk_shape(properties, is_chunked);
    Hdf5::Size elements = 0;
    // libhdf5 allocates memory for a whole chunk.
    if (__builtin_mul_overflow(rows, columns, &elements) || elements / greatest_ratio > file_bytes / all.kind->bytes)
      refuse("the header claims chunks of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                 " columns, which cannot be in a file of " + std::to_string(file_bytes) + " bytes",
             "copy the file again");
    const Hdf5::Size chunks_in_row = is_chunked ? (static_cast<Hdf5::Size>(all.columns) - 1) / columns + 1 : 1;
    const Hdf5::Size times =
        std::min(piece_bytes / static_cast<Hdf5::Size>(all.row_bytes) / rows, most_chunks / chunks_in_row);
    return static_cast<std::int64_t>(rows * std::max<Hdf5::Size>(times, 1));
  }

  void set_shape(RowsInFile& all) const {
    const Object space(hdf5_, hdf5_.space_of(dataset_->handle()));
    std::array<Hdf5::Size, 32> sizes{};
    std::array<Hdf5::Size, 32> most{};
    most.fill(std::numeric_limits<Hdf5::Size>::max());
    const int dimensions = space ? hdf5_.dimensions(space.handle()) : -1;
    if (dimensions < 0 || dimensions > static_cast<int>(sizes.size()) ||
        hdf5_.shape(space.handle(), sizes.data(), most.data()) < 0)
      refuse_damage("the shape cannot be read");
    std::vector<std::int64_t> shape;
    auto bytes = static_cast<std::int64_t>(all.kind->bytes);
    bool overflows = false;
    for (int dimension = 0; dimension < dimensions; ++dimension) {
      const Hdf5::Size size = sizes[static_cast<std::size_t>(dimension)];
      if (size > most[static_cast<std::size_t>(dimension)])
        refuse("dimension " + std::to_string(dimension) + " has the size " + std::to_string(size) +
                   ", but its maximum is " + std::to_string(most[static_cast<std::size_t>(dimension)]),
               "copy the file again");
      overflows = overflows || size > std::numeric_limits<std::int64_t>::max();
      shape.push_back(static_cast<std::int64_t>(size));
      overflows = __builtin_mul_overflow(bytes, shape.back(), &bytes) || overflows;
    }
    if (overflows) refuse("the shape " + core::shape_text(shape) + " overflows 64 bits", "copy the file again");
    if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] == 0))
      refuse("the dataset has the shape " + core::shape_text(shape) +
                 "; one or two dimensions, and at least one column, are expected",
             "reshape it, for example by reshape(len(data), -1) in h5py");
    all.rows = shape[0];
    all.columns = shape.size() == 2 ? shape[1] : 1;
    all.row_bytes = all.columns * static_cast<std::int64_t>(all.kind->bytes);
  }

  /// Returns the element type, or null if it is not supported.
  const ElementKind<Reals>* kind_of(Hdf5::Handle type) const {
    const std::size_t bytes = hdf5_.size_of(type);
    const bool is_ordered = bytes == 1 || hdf5_.order(type) == Hdf5::little || hdf5_.order(type) == Hdf5::big;
    if (!is_ordered || bytes > 8) return nullptr;
    switch (hdf5_.class_of(type)) {
      case Hdf5::integer:
        if (hdf5_.precision(type) != 8 * bytes) return nullptr;
        return element_kind<Reals>((hdf5_.sign(type) == 0 ? "u" : "i") + std::to_string(bytes));
      case Hdf5::floating: return floating_kind(type);
      case Hdf5::enumeration: return is_bool(type, bytes) ? element_kind<Reals>("b1") : nullptr;
      default: return nullptr;
    }
  }

  const ElementKind<Reals>* floating_kind(Hdf5::Handle type) const {
    struct Layout {
      std::size_t sign, exponent, exponent_bits, fraction, fraction_bits, bias;
      bool operator==(const Layout&) const = default;
    };
    constexpr std::pair<Layout, std::string_view> kinds[] = {{{15, 10, 5, 0, 10, 15}, "f2"},
                                                             {{15, 7, 8, 0, 7, 127}, "bf16"},
                                                             {{31, 23, 8, 0, 23, 127}, "f4"},
                                                             {{63, 52, 11, 0, 52, 1023}, "f8"}};
    Layout layout{};
    if (hdf5_.fields(type, &layout.sign, &layout.exponent, &layout.exponent_bits, &layout.fraction,
                     &layout.fraction_bits) < 0)
      return nullptr;
    layout.bias = hdf5_.exponent_bias(type);
    for (const auto& [known, name] : kinds)
      if (layout == known && hdf5_.size_of(type) == (known.sign + 1) / 8) return element_kind<Reals>(name);
    return nullptr;
  }

  /// Returns true for the enumeration as which h5py stores bool.
  bool is_bool(Hdf5::Handle type, std::size_t bytes) const {
    if (bytes != 1 || hdf5_.members(type) != 2) return false;
    for (const auto& [name, value] : {std::pair{"FALSE", 0}, {"TRUE", 1}}) {
      const int index = hdf5_.member_index(type, name);
      signed char found = -1;
      if (index < 0 || hdf5_.member_value(type, static_cast<unsigned>(index), &found) < 0 || found != value)
        return false;
    }
    return true;
  }

  /// Copies rows like load(). Returns nothing, or libhdf5's explanation of a failure.
  std::optional<std::string> try_load(const RowsInFile& all, std::int64_t first, std::int64_t last,
                                      std::byte* to) const {
    const Object type(hdf5_, hdf5_.type_of(dataset_->handle()));
    const Object properties(hdf5_, hdf5_.properties_of(dataset_->handle()));
    if (!type || !properties) return explanation();
    const bool is_chunked = hdf5_.layout(properties.handle()) == Hdf5::chunked;
    const auto width = static_cast<std::int64_t>(std::min<Hdf5::Size>(
        most_chunks * std::min<Hdf5::Size>(chunk_shape(properties.handle(), is_chunked).second, 1 << 24),
        static_cast<Hdf5::Size>(all.columns)));
    if (!is_chunked || width == all.columns) return try_load(type, {first, last}, {0, all.columns}, to);
    const auto bytes = static_cast<std::int64_t>(all.kind->bytes);
    Matrix<std::byte> some(last - first, width * bytes);
    for (std::int64_t begin = 0; begin < all.columns; begin += width) {
      const std::int64_t end = std::min(begin + width, all.columns);
      if (auto why = try_load(type, {first, last}, {begin, end}, some.data())) return why;
      for (std::int64_t row = 0; row < last - first; ++row)
        std::copy_n(some.data() + row * (end - begin) * bytes, (end - begin) * bytes,
                    to + row * all.row_bytes + begin * bytes);
    }
    return std::nullopt;
  }

  struct Piece {
    std::int64_t begin;
    std::int64_t end;
    Hdf5::Size size() const { return static_cast<Hdf5::Size>(end - begin); }
  };

  /// Reads a block of elements. Returns libhdf5's explanation if that fails.
  std::optional<std::string> try_load(const Object& type, Piece rows, Piece columns, std::byte* to) const {
    const Object space(hdf5_, hdf5_.space_of(dataset_->handle()));
    const Hdf5::Size begin[] = {static_cast<Hdf5::Size>(rows.begin), static_cast<Hdf5::Size>(columns.begin)};
    const Hdf5::Size size[] = {rows.size(), columns.size()};
    const Object memory(hdf5_, hdf5_.make_space(hdf5_.dimensions(space.handle()), size, nullptr));
    if (space && memory && hdf5_.select(space.handle(), 0, begin, nullptr, size, nullptr) >= 0 &&
        hdf5_.read(dataset_->handle(), type.handle(), memory.handle(), space.handle(), Hdf5::defaults, to) >= 0)
      return std::nullopt;
    return explanation();
  }

  const Hdf5& hdf5_;
  std::string path_;
  ArrayPath place_;
  core::FileState state_;
  std::optional<Object> file_;
  std::optional<Object> dataset_;
};

/// Returns true if the bytes have the signature of HDF5 at one of the places where libhdf5 searches it.
bool has_signature(std::span<const std::byte> bytes) {
  for (std::size_t place = 0; place < bytes.size(); place = std::max<std::size_t>(512, 2 * place))
    if (as_text(bytes.subspan(place)).starts_with(signature)) return true;
  return false;
}

std::optional<RowsInFile> hdf5_rows(std::span<const std::byte> bytes, const std::string& path,
                                    const std::stop_token& stop) {
  if (!has_signature(bytes)) {
    refuse_foreign(as_text(bytes), path, Reader::points);
    ErrorFields fields = fields_at_byte(path, 0);
    fields.remedy = "check the ending of its name";
    throw InputError("'" + path + "': not an HDF5 file: its signature is missing", fields);
  }
  const Hdf5& hdf5 = Hdf5::functions(path);
  const auto open = [&] {
    const Calls calls(hdf5);
    return std::make_shared<const Dataset>(hdf5, path, stop);
  };
  const std::shared_ptr<const Dataset> dataset = open();
  const Calls calls(hdf5);
  RowsInFile all = dataset->rows(bytes);
  if (all.data.empty() && all.rows > 0)
    all.load = [&hdf5, dataset, all](std::int64_t first, std::int64_t last, std::byte* to) {
      const Calls other_calls(hdf5);
      dataset->load(all, first, last, to);
    };
  return all;
}

}  // namespace

extern constinit const PointsFormat hdf5_points{
    .file =
        {.name = "HDF5",
         .endings = hdf5_endings,
         .rules =
             "Datasets of one dimension (n × 1) or two; `data.h5:/train` says which one, where there are several. "
             "libhdf5 1.10 or later must be installed (Debian: `libhdf5-103-1`). Contiguous `f4` and `f8` in "
             "native byte order are memory-mapped and not copied if they are aligned. Rows of chunked datasets are "
             "read in blocks, through any filter that libhdf5 has. Types are converted as in `.npy`, and `bfloat16` "
             "is widened to `f32`",
         .may_be_packed = false},
    .has_arrays = true,
    .rows_in = hdf5_rows,
};

}  // namespace gradus::files
