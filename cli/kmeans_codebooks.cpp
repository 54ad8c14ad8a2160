#include "cli/kmeans_codebooks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <variant>

#include "cli/kmeans_table.hpp"
#include "cli/output.hpp"
#include "core/npz.hpp"
#include "core/stop.hpp"
#include "files/npy.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t clusters_of_a_byte = 256;

}  // namespace

CodesFile::CodesFile(core::AtomicFile& file, std::int64_t rows, std::int64_t subspaces, std::int64_t clusters)
    : file_(file), narrow_(clusters <= clusters_of_a_byte) {
  file_.write(core::npy_header(narrow_ ? core::npy_descr<std::uint8_t>() : core::npy_descr<std::int32_t>(),
                               std::array{rows, subspaces}));
}

std::uint64_t CodesFile::size(std::int64_t rows, std::int64_t subspaces, std::int64_t clusters) {
  return files::npy_size<std::int32_t>(rows, subspaces) / (clusters <= clusters_of_a_byte ? 4 : 1);
}

void CodesFile::add(MatrixView<const std::int32_t> codes) {
  const std::span all(codes.data(), static_cast<std::size_t>(codes.rows() * codes.columns()));
  if (!narrow_) return file_.write(std::as_bytes(all));
  std::vector<std::uint8_t> bytes(all.size());
  std::ranges::transform(all, bytes.begin(), [](std::int32_t code) { return static_cast<std::uint8_t>(code); });
  file_.write(std::as_bytes(std::span(bytes)));
}

CodebookFiles::CodebookFiles(const std::string& folder, const std::vector<std::string>& names, const KMeansShape& shape,
                             std::int64_t subspaces, std::int64_t clusters, const std::stop_token& stop) {
  if (folder.empty()) return;
  outputs_.emplace(folder, names, stop);
  const std::int64_t rows = subspaces * clusters;
  codebooks_ =
      &outputs_->add(codebooks_name, shape.element_bytes == 8 ? files::npy_size<double>(rows, shape.dimensions)
                                                              : files::npy_size<float>(rows, shape.dimensions));
  codes_ = &outputs_->add(codes_name, CodesFile::size(shape.points, subspaces, clusters));
  summary_ = &outputs_->add(summary_name);
  outputs_->set_seal(*summary_, unfinished_summary("kmeans"));
}

template <class T>
void CodebookFiles::write(const KMeansBatchResult<T>& fit, const std::stop_token& stop) {
  if (!outputs_) return;
  const auto subspaces = static_cast<std::int64_t>(fit.problems.size());
  const Matrix<T>& first = fit.problems.front().centroids;
  const std::array shape{subspaces, first.rows(), first.columns()};
  codebooks_->write(core::npy_header(core::npy_descr<T>(), shape));
  for (const KMeansResult<T>& one : fit.problems)
    codebooks_->write(std::as_bytes(
        std::span(one.centroids.data(), static_cast<std::size_t>(one.centroids.rows() * one.centroids.columns()))));
  const std::int64_t rows = fit.problems.front().labels.size();
  CodesFile codes(*codes_, rows, subspaces, first.rows());
  const std::int64_t most_rows = core::chunk_length(rows, subspaces);
  Matrix<std::int32_t> block(most_rows, subspaces);
  for (std::int64_t begin = 0; begin < rows; begin += most_rows) {
    core::honour_stop(stop, "stopped while writing the codes");
    const std::int64_t count = std::min(most_rows, rows - begin);
    for (std::int64_t subspace = 0; subspace < subspaces; ++subspace) {
      const Buffer<std::int32_t>& labels = fit.problems[static_cast<std::size_t>(subspace)].labels;
      for (std::int64_t row = 0; row < count; ++row) block(row, subspace) = labels[begin + row];
    }
    codes.add(std::as_const(block).view().slice(0, count));
  }
  codebooks_->finish();
  codes_->finish();
}

void CodebookFiles::commit(Json& summary) {
  if (!outputs_) return;
  summary["files"] = facts_of_files({codebooks_, codes_});
  summary_->write(json_text(summary));
  outputs_->commit();
}

template <class T>
void add_codebook_facts(Json& summary, const KMeansBatchResult<T>& fit) {
  double inertia = 0;
  Json inertias = Json::array();
  Json iterations = Json::array();
  bool converged = true;
  for (const KMeansResult<T>& one : fit.problems) {
    inertia += one.inertia;
    inertias.push_back(one.inertia);
    iterations.push_back(one.iterations);
    converged = converged && one.converged;
  }
  summary["variant"] = fit.report.variant;
  summary["device"] = fit.report.device;
  summary["threads"] = fit.report.threads;
  summary["inertia"] = inertia;
  summary["inertias"] = std::move(inertias);
  summary["iterations"] = std::move(iterations);
  summary["converged"] = converged;
  summary["rechecked"] = fit.report.rechecked;
}

template <class T>
std::string codebook_line(const KMeansBatchResult<T>& fit, std::int64_t points, std::string_view type, double seconds,
                          const std::string& threads) {
  const auto subspaces = static_cast<std::int64_t>(fit.problems.size());
  const Matrix<T>& first = fit.problems.front().centroids;
  double inertia = 0;
  int most_iterations = 0;
  for (const KMeansResult<T>& one : fit.problems) {
    inertia += one.inertia;
    most_iterations = std::max(most_iterations, one.iterations);
  }
  return fmt::format("{} x {} ({}) in {} of {} x {}: inertia {:.8g}, up to {}, {:.3g} s, {}, {}\n",
                     counted(points, "point"), subspaces * first.columns(), type, counted(subspaces, "codebook"),
                     grouped(first.rows()), first.columns(), inertia, counted(most_iterations, "iteration"), seconds,
                     fit.report.variant, threads);
}

files::Points read_codebooks(const std::string& path, std::int64_t subspaces, const std::stop_token& stop) {
  const files::Tensor tensor = files::read_npy_tensor(path, stop);
  const std::vector<std::int64_t>& shape = tensor.shape;
  if (shape.size() != 3 || shape[0] != subspaces || shape[1] < 1 || shape[2] < 1 ||
      tensor.strides != std::vector<std::int64_t>{shape[1] * shape[2], shape[2], 1})
    throw InputError(
        fmt::format("'{}': the shape is {}, but {} (codebooks x clusters x columns, in C order) are needed", path,
                    core::shape_text(shape), counted(subspaces, "codebook")));
  files::Points points;
  std::visit(
      [&]<class T>(const files::PointsOf<T>& all) {
        points.values = files::PointsOf<T>{{all.view.data(), shape[0] * shape[1], shape[2]}, all.owner};
      },
      tensor.values);
  return points;
}

#define GRADUS_INSTANTIATE(T)                                                                             \
  template void CodebookFiles::write(const KMeansBatchResult<T>&, const std::stop_token&);                \
  template void add_codebook_facts(Json&, const KMeansBatchResult<T>&);                                   \
  template std::string codebook_line(const KMeansBatchResult<T>&, std::int64_t, std::string_view, double, \
                                     const std::string&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::cli
