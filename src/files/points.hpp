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

/// Returns true if read_points() reads the file as a text table. A stream counts as one.
bool is_table(const std::string& path);

/// Returns true if the name alone determines the format of points.
bool names_points(const std::string& path);

/// Returns true if the bytes begin like a file of points whose format can be recognised by content.
bool recognises_points(std::string_view beginning);

/// Returns true if read_points() reads the file as a .npy or .npz array. Always false for a stream.
bool is_npy(const std::string& path);

/// Returns the options for another file of the same job, with all columns and rows.
ReadOptions with_all_columns(ReadOptions options);

/// Reads points from .npy, .npz ("a.npz:name" if it holds several arrays), .csv, .tsv, .txt, .png, .jpg or .jpeg.
/// Recognises files with other endings by content. Reads CSV, .npy or .npz from a stream (see is_stream()), by content.
/// One-dimensional arrays become n x 1. Throws InputError with the error and its place.
Points read_points(const std::string& path, const ReadOptions& options = {});

/// Reads points from an unread stream. Messages use its name.
Points read_points(TextInput& input, const ReadOptions& options = {});

/// The shape of the points of a file whose rows can be read independently.
struct PointsShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::f32;
};
std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options = {});
/// Reads some rows of a file for which shape_in_rows() returns a shape.
Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options = {});

/// Reads like read_points(), but keeps the dimensions (up to 64) and order of .npy arrays.
Tensor read_tensor(const std::string& path, const ReadOptions& options = {});

/// Reads a file of one column or one row, as T.
template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options = {});

}  // namespace gradus::files
