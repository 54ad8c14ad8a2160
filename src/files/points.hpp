// Points from a file of any of their formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/points_format.hpp"
#include "files/values.hpp"

namespace gradus::files {

class TextInput;

/// Whether read_points() takes the file for a table of text; a stream, of which nobody knows yet, may be one.
bool is_table(const std::string& path);

/// Whether the name alone tells what kind of points the file holds.
bool names_points(const std::string& path);

/// Returns true for bytes that begin as a file of points does whose format the content tells.
bool recognises_points(std::string_view beginning);

/// Whether read_points() takes the file for an array of .npy or .npz. A stream is none, whatever it holds.
bool is_npy(const std::string& path);

/// The same reading of another file of the same job, of which all columns and rows are wanted.
ReadOptions with_all_columns(ReadOptions options);

/// Reads .npy, .npz ("a.npz:name" where it holds several arrays), .csv, .tsv, .txt, .png, .jpg, .jpeg (by content where
/// the ending is another one). From a stream (see is_stream()) CSV, .npy or .npz, by content. One-dimensional arrays
/// become n x 1.
/// Throws InputError that says what is wrong with the file and where.
Points read_points(const std::string& path, const ReadOptions& options = {});

/// The same of a stream of which nothing was taken yet; its name stands in messages.
Points read_points(TextInput& input, const ReadOptions& options = {});

/// What read_points() would give of a file of which some rows can be read without the others; nothing of other files.
struct PointsShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::f32;
};
std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options = {});
/// These rows of it.
Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options = {});

/// As read_points(), but .npy arrays of up to 64 dimensions and in either order as they are; whatever else can be read
/// has two dimensions.
Tensor read_tensor(const std::string& path, const ReadOptions& options = {});

/// A file of one column (or of one row), as T.
template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options = {});

}  // namespace gradus::files
