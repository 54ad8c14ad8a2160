#include "cli/point_files.hpp"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/checked.hpp"
#include "core/startable.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "files/file.hpp"
#include "gradus/rows_of_rank.hpp"

namespace gradus::cli {

namespace {

/// Properties of a file. All ranks need them before they read rows.
struct Head {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  files::ElementType type = files::ElementType::f32;
  bool in_rows = false;                   ///< true if each rank can read its rows directly from the file
  std::size_t names = 0;                  ///< hash of the column names; 0: the columns have no names
  std::optional<StoredType> stored = {};  ///< the type in which the rows are kept, if it is not `type`
};

bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Orders names like "part-2" before names like "part-10".
bool comes_before(const std::string& one, const std::string& other) {
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < one.size() && b < other.size()) {
    if (!is_digit(one[a]) || !is_digit(other[b])) {
      if (one[a] != other[b]) return one[a] < other[b];
      ++a, ++b;
      continue;
    }
    const auto number = [](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return std::string_view(text).substr(begin, at - begin);
    };
    const std::string_view first = number(one, a);
    const std::string_view second = number(other, b);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
  }
  if (one.size() - a != other.size() - b) return one.size() - a < other.size() - b;
  return one < other;  // the names differ only in leading zeros of numbers
}

}  // namespace

std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> files;
  if (status == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == GLOB_NOSPACE) throw OutOfMemoryError("no memory is left for the names of the files");
  std::ranges::sort(files, comes_before);
  return files;
}

std::vector<std::string> expanded_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    const std::string pattern = files::file_of_points(input);
    const std::string array = input.substr(pattern.size());  // the ":name" of an array in the file
    std::error_code none;
    const bool is_pattern =
        pattern.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(pattern, none);
    if (!is_pattern) {
      files.push_back(input);
      continue;
    }
    const std::vector<std::string> more = files_like(pattern);
    if (more.empty()) throw InputError("'" + pattern + "': no file has a name like that");
    for (const std::string& file : more) files.push_back(file + array);
  }
  return files;
}

namespace {

/// Returns the file names that the first rank finds. The folders of other ranks are not searched, because they may hold
/// other files.
std::vector<std::string> files_of_all(const std::vector<std::string>& inputs, core::Ranks& ranks) {
  return texts_of_first(ranks, [&] { return expanded_inputs(inputs); });
}

void require_alike(const std::string& file, const Head& head, const std::string& first, const Head& of_first) {
  if (head.columns != of_first.columns)
    throw InputError(
        fmt::format("'{}': rows of {}, but the rows of '{}' have {}; files that are read one after the other "
                    "have the same columns",
                    file, counted(head.columns, "column"), first, of_first.columns));
  if (head.type != of_first.type)
    throw InputError(
        fmt::format("'{}': values of type {}, but the values of '{}' are {}; --dtype f32 or --dtype f64 reads "
                    "all of them as one type",
                    file, to_string(head.type), first, to_string(of_first.type)));
}

void require_same_names(const std::vector<std::string>& files, const std::vector<Head>& heads) {
  std::size_t named = files.size();  // index of the last file that has names
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (heads[file].names == 0) continue;
    if (named < files.size() && heads[file].names != heads[named].names)
      throw InputError("'" + files[file] + "': the columns have other names than the columns of '" + files[named] +
                       "'");
    named = file;
  }
}

/// Returns the number of columns and the type that all files with rows have in common. Throws InputError if these files
/// differ. Files without rows are ignored: they may have other columns and another type.
Head common_head(const std::vector<std::string>& files, const std::vector<Head>& heads) {
  const auto first = std::ranges::find_if(heads, [](const Head& head) { return head.rows > 0; });
  if (first == heads.end()) return heads.front();
  for (std::size_t file = 0; file < heads.size(); ++file)
    if (heads[file].rows > 0)
      require_alike(files[file], heads[file], files[static_cast<std::size_t>(first - heads.begin())], *first);
  require_same_names(files, heads);
  return *first;
}

Head head_of(const files::Points& points) {
  Head head{points.rows(), points.columns(), points.type()};
  for (const std::string& name : points.column_names)
    head.names = std::hash<std::string>()(std::to_string(head.names) + name);
  return head;
}

/// The files that only the first rank reads. These are all files from which a rank cannot read its rows directly.
class WholeFiles {
 public:
  std::vector<Head> read(const std::vector<std::string>& files, const files::ReadOptions& reading) {
    std::vector<Head> heads;
    points_.resize(files.size());
    for (std::size_t file = 0; file < files.size(); ++file) {
      const std::optional<files::PointsShape> shape = files::shape_in_rows(files[file], reading);
      if (shape) {
        heads.push_back({shape->rows, shape->columns, shape->type, true, 0, shape->stored});
        all_rows_ += shape->rows;
        continue;
      }
      points_[file] = files::read_points(files[file], reading);
      heads.push_back(head_of(*points_[file]));
      take_names(files[file], *points_[file], files.size() == 1);
    }
    common_head(files, heads);
    return heads;
  }

  /// Adds everything that the files contain in addition to the coordinates: names, weights and dropped rows. If the
  /// only file is a picture, adds the shape of the picture.
  void add_names(files::Points& points) const {
    points.picture = picture_;
    points.column_names = column_names_;
    points.row_names = row_names_;
    points.weights = weights_;
    points.dropped = dropped_;
    points.from_text = from_text_;
  }

  template <class T>
  MatrixView<const T> rows(std::size_t file) const {
    return points_[file]->view<T>();
  }
  /// Frees the points of a file. Does nothing on ranks other than the first.
  void forget(std::size_t file) {
    if (file < points_.size()) points_[file].reset();
  }

 private:
  void take_names(const std::string& file, const files::Points& points, bool is_only) {
    if (points.picture && !is_only) throw InputError("'" + file + "': a picture, which cannot be one of several files");
    picture_ = points.picture;
    from_text_ = from_text_ || points.from_text;
    if (!points.column_names.empty()) column_names_ = points.column_names;
    weights_.insert(weights_.end(), points.weights.begin(), points.weights.end());
    for (const std::int64_t row : points.dropped) dropped_.push_back(all_rows_ + row);
    all_rows_ += points.rows() + std::ssize(points.dropped);
    if (!points.row_names) return;
    if (!row_names_) row_names_ = std::make_shared<files::RowNames>();
    row_names_->heading = points.row_names->heading;
    row_names_->append(*points.row_names);
  }

  std::vector<std::optional<files::Points>> points_;
  std::optional<files::PictureShape> picture_;
  std::vector<std::string> column_names_;
  std::shared_ptr<files::RowNames> row_names_;
  std::vector<double> weights_;
  std::vector<std::int64_t> dropped_;
  std::int64_t all_rows_ = 0;  ///< number of rows of all files so far, including dropped rows
  bool from_text_ = false;
};

/// Reads rows of a file directly on this rank. `keep_stored` replaces the option of `reading`, which read the head.
files::Points own_rows(const std::string& path, std::int64_t first, std::int64_t rows, const Head& head,
                       files::ReadOptions reading, bool keep_stored) {
  const std::optional<files::PointsShape> shape = files::shape_in_rows(path, reading);
  if (!shape || shape->rows != head.rows || shape->columns != head.columns || shape->type != head.type ||
      shape->stored != head.stored)
    throw InputError("'" + path + "': here it is another file than on rank 0");
  reading.keep_stored = keep_stored;
  return files::read_rows(path, first, rows, reading);
}

/// The bytes of rows that are `stride` bytes apart. A row has `row_bytes` bytes.
struct RowBytes {
  const std::byte* data;
  std::int64_t rows;
  std::int64_t stride;
  std::int64_t row_bytes;
};
RowBytes bytes_of_rows(const StoredMatrixView& rows) {
  const std::int64_t each = bytes_of(rows.type());
  return {static_cast<const std::byte*>(rows.data()), rows.rows(), rows.row_stride() * each, rows.columns() * each};
}
template <class T>
RowBytes bytes_of_rows(MatrixView<const T> rows) {
  constexpr std::int64_t each = sizeof(T);
  return {reinterpret_cast<const std::byte*>(rows.data()), rows.rows(), rows.row_stride() * each,
          rows.columns() * each};
}

/// Copies rows to `to`, without gaps.
void copy_rows(const RowBytes& from, void* to, int threads, const std::stop_token& stop) {
  const std::int64_t stretch = core::chunk_length(from.rows, from.row_bytes / 4, threads);
  const int team = from.rows > stretch ? core::startable_threads(threads) : 1;
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
  for (std::int64_t first = 0; first < from.rows; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, from.rows); ++row)
      std::copy_n(from.data + row * from.stride, from.row_bytes, static_cast<std::byte*>(to) + row * from.row_bytes);
  }
  core::honour_stop(stop, "stopped while reading the points");
}

/// Distributes the rows `part` of a file that the first rank has read. Each rank stores its rows in `all`: row r of the
/// file becomes row at + r. Collective.
template <class T>
void share_out(core::Ranks& ranks, std::size_t file, const WholeFiles& whole, const Head& head, cpu::Range part,
               Matrix<T>& all, std::int64_t at, const files::ReadOptions& reading) {
  if (ranks.is_alone())
    return copy_rows(bytes_of_rows(whole.rows<T>(file)), all.row(at), reading.threads, reading.stop);
  constexpr std::int64_t piece_bytes = std::int64_t{1} << 23;
  const std::int64_t columns = head.columns;  // a rank that needs no copy has no columns in `all`
  const std::int64_t piece = std::max<std::int64_t>(1, piece_bytes / (columns * static_cast<std::int64_t>(sizeof(T))));
  for (std::int64_t first = 0; first < head.rows; first += piece) {
    const std::int64_t count = std::min(piece, head.rows - first);
    const std::vector<T> rows = ranks.from(0, [&] {
      std::vector<T> some;
      some.reserve(static_cast<std::size_t>(count * columns));
      for (std::int64_t row = first; row < first + count; ++row) {
        const T* const values = whole.rows<T>(file).row(row);
        some.insert(some.end(), values, values + columns);
      }
      return some;
    });
    const std::int64_t from = std::max(first, part.begin);
    const std::int64_t to = std::min(first + count, part.end);
    if (from < to) std::copy_n(rows.data() + (from - first) * columns, (to - from) * columns, &all(at + from, 0));
  }
}

/// Returns the type in which a copy of rows from these files is kept: their common StoredType, if they have one.
std::optional<StoredType> common_stored(std::span<const Head* const> files) {
  const std::optional<StoredType> first = files.empty() ? std::nullopt : files.front()->stored;
  return std::ranges::all_of(files, [&](const Head* head) { return head->stored == first; }) ? first : std::nullopt;
}

/// Returns the advice for points that need no copy: see files::PointsShape::is_mapped.
std::string mapped_instead(std::size_t files) {
  return std::string(files > 1 ? "one .npy file in place of several" : "a .npy file") +
         " in the points' type is read in place";
}

/// Throws OutOfMemoryError if memory does not suffice for a copy of points of this shape.
void check_copy(const files::PointsShape& shape, std::size_t files, const MemoryOfJob& memory_of_job,
                const Session& session) {
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(shape.columns * bytes_in_memory(shape));
  std::uint64_t needed = core::checked_multiply(static_cast<std::uint64_t>(shape.rows), row_bytes, "points");
  if (execution::has_memory(needed, session.execution)) return;
  try {
    needed = std::max(needed, memory_of_job(shape));
  } catch (const Error&) {
    // The job cannot run with these points. It reports this error if memory suffices for the copy.
  }
  execution::check_memory(needed, session.execution, mapped_instead(files));
}

/// Calls check_copy() if the rows of the file must be converted. Does nothing if the size of the result is not known
/// before the file is read.
void require_room_for_copy(const std::string& path, const files::ReadOptions& reading, const MemoryOfJob& memory_of_job,
                           const Session& session) {
  const std::optional<files::PointsShape> shape = files::shape_in_rows(path, reading);
  if (shape && !shape->is_mapped) check_copy(*shape, 1, memory_of_job, session);
}

template <class T>
void read_share(PointFiles& result, const std::vector<Head>& heads, WholeFiles& whole, std::int64_t columns,
                std::int64_t own, const files::ReadOptions& reading, const MemoryOfJob& memory_of_job,
                const Session& session) {
  const std::int64_t begin = result.first_row;
  const std::int64_t end = begin + own;
  // Returns the rows of a file that this rank gets, as a range of row numbers within the file.
  const auto part_of = [&](std::size_t file) {
    const FileRows& rows = result.files[file];
    const std::int64_t from = std::clamp(begin, rows.first, rows.first + rows.rows);
    const std::int64_t to = std::clamp(end, rows.first, rows.first + rows.rows);
    return cpu::Range{from - rows.first, to - rows.first};
  };
  Matrix<T> all;
  bool is_copy = false;
  session.ranks().agree([&] {
    std::vector<const Head*> of_rank;
    for (std::size_t file = 0; file < heads.size() && own > 0; ++file) {
      const cpu::Range part = part_of(file);
      if (part.size() > 0) of_rank.push_back(&heads[file]);
      if (!heads[file].in_rows || part.size() != own) continue;
      result.points = own_rows(result.files[file].path, part.begin, own, heads[file], reading, reading.keep_stored);
      return;
    }
    const std::optional<StoredType> stored = common_stored(of_rank);
    check_copy({.rows = own, .columns = columns, .type = files::element_type_of<T>, .stored = stored}, heads.size(),
               memory_of_job, session);
    std::byte* to = nullptr;
    std::int64_t row_bytes = columns * static_cast<std::int64_t>(sizeof(T));
    if (stored) {
      row_bytes = columns * bytes_of(*stored);
      const auto owner = std::make_shared<Buffer<std::byte>>(own * row_bytes);
      to = owner->data();
      result.points.values = files::PointsOf<float>{{nullptr, own, columns}, owner};
      result.points.stored = {to, *stored, own, columns};
    } else {
      all = Matrix<T>(own, columns);
      to = reinterpret_cast<std::byte*>(all.data());
      is_copy = true;
    }
    for (std::size_t file = 0; file < heads.size(); ++file) {
      const cpu::Range part = part_of(file);
      if (!heads[file].in_rows || part.size() <= 0) continue;
      const files::Points rows =
          own_rows(result.files[file].path, part.begin, part.size(), heads[file], reading, stored.has_value());
      copy_rows(stored ? bytes_of_rows(rows.stored) : bytes_of_rows(rows.view<T>()),
                to + (result.files[file].first + part.begin - begin) * row_bytes, reading.threads, reading.stop);
    }
  });
  for (std::size_t file = 0; file < heads.size(); ++file) {
    if (heads[file].in_rows || heads[file].rows == 0) continue;
    const cpu::Range part = part_of(file);
    // Place of the file's first row relative to this rank's first row. It is negative if the file begins on an earlier
    // rank.
    const std::int64_t at = result.files[file].first - begin;
    share_out(session.ranks(), file, whole, heads[file], part, all, at, reading);
    whole.forget(file);
  }
  if (is_copy) result.points.values = files::own(std::move(all));
}

PointFiles read_file_of_rank(const std::string& path, const files::ReadOptions& reading,
                             const MemoryOfJob& memory_of_job, const Session& session) {
  core::Ranks& ranks = session.ranks();
  PointFiles result;
  Head own;
  const auto read = [&] {
    const std::string file = file_of_rank(path, ranks.rank());
    require_room_for_copy(file, reading, memory_of_job, session);
    result.points = files::read_points(file, reading);
    own = head_of(result.points);
    if (ranks.is_alone()) return own;
    if (result.points.picture) throw InputError("'" + file + "': a picture, which cannot be one of several files");
    if (result.points.row_names)
      throw UnsupportedError(
          "--id-column: the names of rows would come from one rank only; without --input-per-rank they come from all");
    return own;
  };
  const std::vector<Head> heads = ranks.gather(read);
  ranks.agree([&] {
    const int size = ranks.size();
    std::error_code none;
    if (const std::string next = file_of_rank(path, size); std::filesystem::exists(next, none))
      throw UsageError(fmt::format("--input-per-rank: '{}' exists too, but {} read{} a file; start one for each", next,
                                   size == 1 ? "one process" : fmt::format("{} ranks", size), size == 1 ? "s" : ""));
  });
  std::vector<std::string> files;
  for (std::size_t one = 0; one < heads.size(); ++one) {
    files.push_back(file_of_rank(path, static_cast<int>(one)));
    result.files.push_back({files.back(), result.rows, heads[one].rows});
    result.rows += heads[one].rows;
  }
  result.first_row = result.files[static_cast<std::size_t>(ranks.rank())].first;
  const Head common = common_head(files, heads);
  if (own.rows == 0) {  // an empty file gets the number of columns and the type of the files with rows
    if (common.type == files::ElementType::f32) result.points.values = files::own(Matrix<float>(0, common.columns));
    else result.points.values = files::own(Matrix<double>(0, common.columns));
  }
  return result;
}

}  // namespace

void PointFiles::name_file(Error& error) const {
  if (error.message().subject != "points") return;
  ErrorMessage message = error.message();
  ErrorFields fields = error.fields();
  message.subject = shown_path(files.front().path);
  if (files.size() == 1) fields.file = files.front().path;
  else message.subject += fmt::format(" and {} more", files.size() - 1);
  for (const FileRows& file : files)
    if (files.size() > 1 && fields.row && *fields.row >= file.first && *fields.row < file.first + file.rows) {
      fields.file = file.path;
      fields.row = *fields.row - file.first;
      message.subject = fmt::format("{} (row {} there)", shown_path(file.path), *fields.row);
      break;
    }
  error.set_message(std::move(message));
  error.set_fields(fields);
}

std::string file_of_rank(const std::string& path, int rank) {
  constexpr std::string_view place = "{rank}";
  std::string result = path;
  for (std::size_t at = 0; (at = result.find(place, at)) != std::string::npos;) {
    const std::string number = std::to_string(rank);
    result.replace(at, place.size(), number);
    at += number.size();
  }
  return result;
}

std::uint64_t PointFiles::mapped_bytes() const {
  if (mapped == nullptr) return 0;
  if (const StoredMatrixView& stored = points.stored; stored.data() != nullptr)
    return static_cast<std::uint64_t>(stored.rows() * stored.row_stride() * bytes_of(stored.type()));
  return points.visit(
      [](auto view) { return static_cast<std::uint64_t>(view.rows() * view.row_stride()) * sizeof(*view.data()); });
}

namespace {

PointFiles read_shared_files(const std::vector<std::string>& inputs, const files::ReadOptions& reading,
                             const MemoryOfJob& memory_of_job, const Session& session) {
  core::Ranks& ranks = session.ranks();
  const std::vector<std::string> files = files_of_all(inputs, ranks);
  PointFiles result;
  if (ranks.is_alone() && files.size() == 1) {
    require_room_for_copy(files.front(), reading, memory_of_job, session);
    result.points = files::read_points(files.front(), reading);
    result.rows = result.points.rows();
    result.files = {{files.front(), 0, result.rows}};
    files::name_rows_left(result.points, result.rows);
    return result;
  }
  WholeFiles whole;
  const std::vector<Head> heads = ranks.from(0, [&] { return whole.read(files, reading); });
  for (std::size_t file = 0; file < heads.size(); ++file) {
    result.files.push_back({files[file], result.rows, heads[file].rows});
    result.rows += heads[file].rows;
  }
  const RowRange own = rows_of_rank(result.rows, ranks.rank(), ranks.size());
  result.first_row = own.first;
  const Head common = common_head(files, heads);
  if (common.type == files::ElementType::f32)
    read_share<float>(result, heads, whole, common.columns, own.rows, reading, memory_of_job, session);
  else read_share<double>(result, heads, whole, common.columns, own.rows, reading, memory_of_job, session);
  whole.add_names(result.points);
  if (session.is_first()) files::name_rows_left(result.points, result.rows);
  result.points.dropped = ranks.from(0, [&] { return result.points.dropped; });
  const std::vector<double> weights = ranks.from(0, [&] { return result.points.weights; });
  if (!weights.empty())
    result.points.weights.assign(weights.begin() + own.first, weights.begin() + own.first + own.rows);
  return result;
}

}  // namespace

PointFiles read_point_files(const std::vector<std::string>& inputs, PerRank per_rank, const files::ReadOptions& reading,
                            const MemoryOfJob& memory_of_job, const Session& session) {
  PointFiles result = per_rank == PerRank::yes ? read_file_of_rank(inputs.front(), reading, memory_of_job, session)
                                               : read_shared_files(inputs, reading, memory_of_job, session);
  const void* const stored = result.points.stored.data();
  result.mapped = stored != nullptr ? files::mapped_file_at(stored)
                                    : result.points.visit([](auto view) { return files::mapped_file_at(view.data()); });
  return result;
}

template <class T>
files::VectorOf<T> read_values_of_rows(const std::string& path, PerRank per_rank, const PointFiles& points,
                                       const files::ReadOptions& reading, const Session& session) {
  core::Ranks& ranks = session.ranks();
  const std::vector<std::int64_t>& dropped = points.points.dropped;
  const std::string file = per_rank == PerRank::yes ? file_of_rank(path, ranks.rank()) : path;
  if (ranks.is_alone())
    return files::of_rows_left(read_vector_as<T>(file, reading), dropped, points.points.rows(), path);
  const bool of_rank = file != path;
  files::VectorOf<T> values;
  if (files::is_stream(path)) {  // only the first rank has standard input
    auto all = std::make_shared<std::vector<T>>(ranks.from(0, [&] {
      const files::VectorOf<T> read = read_vector_as<T>(path, reading);
      return std::vector<T>(read.view.data(), read.view.data() + read.view.size());
    }));
    values = {{all->data(), static_cast<std::int64_t>(all->size())}, all};
  } else {
    ranks.agree([&] { values = read_vector_as<T>(file, reading); });
  }
  ranks.agree(
      [&] { values = files::of_rows_left(values, dropped, of_rank ? points.points.rows() : points.rows, path); });
  if (of_rank) return values;
  if (values.view.size() != points.rows)
    throw InputError(fmt::format("'{}': there are {} weights for {} points; one for each is needed", path,
                                 values.view.size(), points.rows));
  return {{values.view.data() + points.first_row, points.points.rows()}, values.owner};
}

template <class T>
files::Points read_points_for_all(const std::string& path, const files::ReadOptions& reading, const Session& session) {
  core::Ranks& ranks = session.ranks();
  if (ranks.is_alone()) return read_points_as<T>(path, reading);
  files::Points points;
  std::int64_t columns = 0;
  const std::vector<T> values = ranks.from(0, [&] {
    points = read_points_as<T>(path, reading);
    columns = points.columns();
    const files::PointsOf<T> packed = files::without_gaps(std::get<files::PointsOf<T>>(points.values));
    return std::vector<T>(packed.view.data(), packed.view.data() + points.rows() * columns);
  });
  columns = ranks.from(0, [&] { return std::vector{columns}; }).front();
  Matrix<T> rows(columns == 0 ? 0 : static_cast<std::int64_t>(values.size()) / columns, columns);
  std::ranges::copy(values, rows.data());
  points.values = files::own(std::move(rows));
  return points;
}

void bring_to_first(core::Ranks& ranks, Buffer<std::int32_t>& values) {
  const std::vector<std::int64_t> counts = ranks.gather([&] { return values.size(); });
  std::int64_t count = 0;
  for (const std::int64_t one : counts) count += one;
  Buffer<std::int32_t> all;
  ranks.agree([&] {
    if (ranks.rank() == 0) all = Buffer<std::int32_t>(count);
  });
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  std::int64_t at = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    for (std::int64_t first = 0; first < counts[rank]; first += piece) {
      const std::int64_t some = std::min(piece, counts[rank] - first);
      if (rank == 0) {
        if (ranks.rank() == 0) std::copy_n(values.data() + first, some, all.data() + at);
      } else {
        const auto sent = ranks.from(static_cast<int>(rank), [&] {
          return std::vector<std::int32_t>(values.data() + first, values.data() + first + some);
        });
        if (ranks.rank() == 0) std::ranges::copy(sent, all.data() + at);
      }
      at += some;
    }
  if (ranks.rank() == 0) values = std::move(all);
}

template files::VectorOf<float> read_values_of_rows(const std::string&, PerRank, const PointFiles&,
                                                    const files::ReadOptions&, const Session&);
template files::VectorOf<double> read_values_of_rows(const std::string&, PerRank, const PointFiles&,
                                                     const files::ReadOptions&, const Session&);
template files::Points read_points_for_all<float>(const std::string&, const files::ReadOptions&, const Session&);
template files::Points read_points_for_all<double>(const std::string&, const files::ReadOptions&, const Session&);

}  // namespace gradus::cli
