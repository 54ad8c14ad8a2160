// The codebooks of a product quantizer: a result of `gradus kmeans --subspaces`, by which `gradus predict` encodes
// points.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "files/points.hpp"
#include "gradus/kmeans_batch.hpp"

namespace gradus::cli {

/// Writes the codes of n points in M subspaces as n x M array of bytes, or of int32 if there are more than 256
/// clusters. The rows arrive in blocks, in order.
class CodesFile {
 public:
  CodesFile(core::AtomicFile& file, std::int64_t rows, std::int64_t subspaces, std::int64_t clusters);
  /// Returns the size of the file, in bytes.
  static std::uint64_t size(std::int64_t rows, std::int64_t subspaces, std::int64_t clusters);
  void add(MatrixView<const std::int32_t> codes);

 private:
  core::AtomicFile& file_;
  bool narrow_;
};

/// The files of the result: codebooks.npy, codes.npy and summary.json. The constructor opens them, so that the command
/// fails early if the folder cannot be written.
class CodebookFiles {
 public:
  /// `names` lists all files that a fit may write. An empty folder stands for no files. `shape` is the shape of a
  /// subspace.
  CodebookFiles(const std::string& folder, const std::vector<std::string>& names, const KMeansShape& shape,
                std::int64_t subspaces, std::int64_t clusters, const std::stop_token& stop);
  explicit operator bool() const { return outputs_.has_value(); }
  /// Writes all files except the summary.
  template <class T>
  void write(const KMeansBatchResult<T>& fit, const std::stop_token& stop);
  /// Adds the lengths and checksums of the files to the summary, writes the summary, and publishes all files.
  void commit(nlohmann::ordered_json& summary);

 private:
  void write_codes(const std::vector<const std::int32_t*>& labels, std::int64_t rows, std::int64_t clusters,
                   const std::stop_token& stop);

  std::optional<core::OutputSet> outputs_;
  core::AtomicFile* codebooks_ = nullptr;
  core::AtomicFile* codes_ = nullptr;
  core::AtomicFile* summary_ = nullptr;
};

/// The facts of the fits, without their types.
struct CodebookFacts {
  std::int64_t points = 0;
  std::int64_t clusters = 0;
  std::int64_t columns = 0;  ///< columns of a codebook
  std::vector<double> inertias;
  std::vector<int> iterations;
  bool converged = true;
  RunReport report;

  /// Returns the sum of all inertias.
  double inertia() const;
};
template <class T>
CodebookFacts facts_of(const KMeansBatchResult<T>& fit);

void add_facts(nlohmann::ordered_json& summary, const CodebookFacts& facts);

/// Returns a line of text about the fits. `type` is the name of the type of the points.
std::string codebook_line(const CodebookFacts& facts, std::string_view type, double seconds,
                          const std::string& threads);

/// Reads codebooks as the rows of one matrix, one codebook after the other. Throws InputError if the file does not hold
/// `subspaces` codebooks.
files::Points read_codebooks(const std::string& path, std::int64_t subspaces, const std::stop_token& stop);

}  // namespace gradus::cli
