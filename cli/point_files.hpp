// Reads points from several files as if they were one file, and distributes the rows over the ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ranks.hpp"
#include "cli/session.hpp"
#include "files/file.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

/// The place of a file's rows among the rows of all files.
struct FileRows {
  std::string path;
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

struct PointFiles {
  files::Points points;  ///< the rows of this rank; names and the shape of a picture are only on the first rank
  std::vector<FileRows> files;
  std::int64_t first_row = 0;  ///< number of rows on the ranks before this one
  std::int64_t rows = 0;       ///< number of rows on all ranks
  /// The file in which this rank's points are mapped. Null if the points are a copy in memory.
  const files::MappedFile* mapped = nullptr;

  /// Returns the bytes of this rank's mapped points, or 0.
  std::uint64_t mapped_bytes() const;

  /// If the error is about the points, names the file in the error. If there are several files, converts the row number
  /// in the error to a row number within its file.
  void name_file(Error& error) const;

  /// Calls the function. If it throws an InputError, adds file names to the error.
  template <class Function>
  decltype(auto) naming(Function&& function) const {
    try {
      return function();
    } catch (InputError& error) {
      name_file(error);
      throw;
    }
  }
};

/// Returns the files whose names match the pattern (*, ?, []), sorted by name. Numbers in names are compared as
/// numbers.
std::vector<std::string> files_like(const std::string& pattern);

/// Returns the files that the inputs name: each input is the name of a file or a pattern. The name of an array, as in
/// "shards-*.h5:/x", is added to the name of each file. Throws InputError if no file matches a pattern.
std::vector<std::string> expanded_inputs(const std::vector<std::string>& inputs);

enum class PerRank : bool { no, yes };

/// Returns the bytes of an element of points that have this shape in memory.
inline int bytes_in_memory(const files::PointsShape& shape) {
  if (shape.stored) return bytes_of(*shape.stored);
  return shape.type == files::ElementType::f32 ? sizeof(float) : sizeof(double);
}

/// Returns the bytes that a job on points of this shape needs in addition to the points.
using MemoryOfJob = std::function<std::uint64_t(const files::PointsShape&)>;

/// Reads files. A name may be a pattern (*, ?, []), which stands for the files of files_like(). Throws InputError
/// unless all files with rows have the same columns and type. Each rank gets an even share of the rows. A rank reads
/// only its own rows of a file for which files::shape_in_rows() returns a shape. The first rank reads all other files
/// and sends their rows in chunks. Throws OutOfMemoryError if the rows must be copied and memory does not suffice for
/// the copy. This error names the memory of the job, too, if the job needs more than the copy. Collective: an error on
/// one rank is thrown on all ranks.
///
/// With PerRank::yes, `inputs` contains one name, from which file_of_rank() makes the name of this rank's file. The
/// points are the rows of all ranks' files, in the order of the ranks.
PointFiles read_point_files(const std::vector<std::string>& inputs, PerRank per_rank, const files::ReadOptions& reading,
                            const MemoryOfJob& memory_of_job, const Session& session);

/// Replaces "{rank}" in the path by this rank's number.
std::string file_of_rank(const std::string& path, int rank);

/// Reads one number, such as a weight, for each row of `points`. Returns the numbers for this rank's rows. If
/// `per_rank` is PerRank::yes and the file's name contains "{rank}", each rank has a file with the numbers of its rows.
/// Otherwise, one file holds the numbers of all rows.
template <class T>
files::VectorOf<T> read_values_of_rows(const std::string& path, PerRank per_rank, const PointFiles& points,
                                       const files::ReadOptions& reading, const Session& session);

/// Reads rows on the first rank and sends them to all ranks; see read_points_as(). Only the first rank gets column
/// names.
template <class T>
files::Points read_points_for_all(const std::string& path, const files::ReadOptions& reading, const Session& session);

/// Concatenates the values of all ranks, in rank order, and stores the result on the first rank. All other ranks keep
/// their values. Collective.
void bring_to_first(core::Ranks& ranks, Buffer<std::int32_t>& values);

}  // namespace gradus::cli
