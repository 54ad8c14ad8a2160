// Points from several files, one after the other, as if they were one; and of these points the rows of a rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ranks.hpp"
#include "cli/session.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

/// Which rows of all a file holds.
struct FileRows {
  std::string path;
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

struct PointFiles {
  files::Points points;  ///< this rank's; what is no number (names, the shape of a picture) is the first rank's alone
  std::vector<FileRows> files;
  std::int64_t first_row = 0;  ///< of this rank's, among all
  std::int64_t rows = 0;       ///< of all ranks

  /// In an error about the points, names their file. If there are several, the row counts in its file.
  void name_file(Error& error) const;

  /// Calls the function, and names files in an InputError that it throws.
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

/// Returns the files whose names match the pattern (*, ?, []), ordered by name with digits as numbers.
std::vector<std::string> files_like(const std::string& pattern);

enum class PerRank : bool { no, yes };

/// `inputs`: files or patterns (*, ?, []) of their names, which stand for what they match, ordered by name with digits
/// as numbers. All of them have the same columns and the same type (InputError), but for those without rows. Each rank
/// gets an even share of the rows: of .npy files in C order it reads them itself, and nothing else; other files are
/// read by the first rank, which sends them piece by piece. All ranks call this together; what fails on one fails on
/// all.
///
/// PerRank::yes: the only input is a file of this rank, see file_of_rank(), and the ranks' files are one after the
/// other.
PointFiles read_point_files(const std::vector<std::string>& inputs, PerRank per_rank, const files::ReadOptions& reading,
                            const Session& session);

/// The path, with this rank's number in place of "{rank}".
std::string file_of_rank(const std::string& path, int rank);

/// Numbers for the rows of `points`, such as weights: this rank's. One file has those of all rows, unless its name has
/// "{rank}" and `per_rank` says so.
template <class T>
files::VectorOf<T> read_values_of_rows(const std::string& path, PerRank per_rank, const PointFiles& points,
                                       const files::ReadOptions& reading, const Session& session);

/// Rows that the first rank reads, for all ranks; see read_points_as(). The first rank alone has the names of columns.
template <class T>
files::Points read_points_for_all(const std::string& path, const files::ReadOptions& reading, const Session& session);

/// All ranks' values, in the order of the ranks, on the first rank; on the others their own. All call it together.
void bring_to_first(core::Ranks& ranks, Buffer<std::int32_t>& values);

}  // namespace gradus::cli
