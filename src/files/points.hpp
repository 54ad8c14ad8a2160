// Reads points from a file of any supported format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/points_format.hpp"
#include "files/values.hpp"

namespace gradus::files {

class TextInput;

/// Returns the path of the file: "a.npz" for the array "a.npz:name", otherwise the path itself.
std::string file_of_points(const std::string& path);

/// Returns true if read_points() reads the file as a text table. For a stream, always returns true.
bool is_table(const std::string& path);

/// Returns true if the name alone determines the format of points.
bool names_points(const std::string& path);

/// Returns true if the bytes begin like a file of points whose format can be recognised by content.
bool recognises_points(std::string_view beginning);

/// Returns true if read_points() reads the file as a .npy or .npz array. For a stream, always returns false.
bool is_npy(const std::string& path);

/// Returns the options for reading another file of the same job. These options select all columns and rows.
ReadOptions with_all_columns(ReadOptions options);
/// Returns with_all_columns() for a list of one number per row. Whether the table of points has a header says nothing
/// about a list, whose first line is a header if it is a word.
ReadOptions of_list(ReadOptions options);

/// Reads points from a file of any format in the list of points.cpp ("a.npz:name" if the file has several arrays). Some
/// formats are recognised by content, whatever the ending is. A stream (see is_stream()) may contain CSV, .npy or .npz;
/// its content determines which. One-dimensional arrays become n x 1. Throws InputError, with a message that describes
/// the fault and its position.
Points read_points(const std::string& path, const ReadOptions& options = {});

/// Reads points from a stream. The caller must not have read any of it. The stream's name appears in messages.
Points read_points(TextInput& input, const ReadOptions& options = {});

/// The shape of the points in a file whose rows can be read independently of each other.
struct PointsShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::f32;
  bool is_mapped = false;                 ///< true if read_rows() maps the rows; false: it copies them
  std::optional<StoredType> stored = {};  ///< the type in which read_rows() keeps the rows: see Points::stored
};
/// Returns the shape from the file's header and length, or nothing if the rows depend on each other.
std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options = {});
/// Reads some rows of a file for which shape_in_rows() returns a shape, without touching the rest of the file.
Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options = {});

/// Reads a file like read_points(), but keeps the number of dimensions (up to 64) and the memory order of .npy arrays.
Tensor read_tensor(const std::string& path, const ReadOptions& options = {});

/// Reads a file with one column or one row of numbers, and converts the numbers to T.
template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options = {});

}  // namespace gradus::files
