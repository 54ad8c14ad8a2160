#include "cli/kmeans_codebooks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
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
  const Matrix<T>& first = fit.problems.front().centroids;
  codebooks_->write(
      core::npy_header(core::npy_descr<T>(), std::array{std::ssize(fit.problems), first.rows(), first.columns()}));
  std::vector<const std::int32_t*> labels;
  for (const KMeansResult<T>& one : fit.problems) {
    codebooks_->write(
        std::as_bytes(std::span(one.centroids.data(), static_cast<std::size_t>(first.rows() * first.columns()))));
    labels.push_back(one.labels.data());
  }
  codebooks_->finish();
  write_codes(labels, fit.problems.front().labels.size(), first.rows(), stop);
}

void CodebookFiles::write_codes(const std::vector<const std::int32_t*>& labels, std::int64_t rows,
                                std::int64_t clusters, const std::stop_token& stop) {
  const std::int64_t subspaces = std::ssize(labels);
  CodesFile codes(*codes_, rows, subspaces, clusters);
  const std::int64_t most_rows = core::chunk_length(rows, subspaces);
  Matrix<std::int32_t> block(most_rows, subspaces);
  for (std::int64_t begin = 0; begin < rows; begin += most_rows) {
    core::honour_stop(stop, "stopped while writing the codes");
    const std::int64_t count = std::min(most_rows, rows - begin);
    for (std::int64_t subspace = 0; subspace < subspaces; ++subspace)
      for (std::int64_t row = 0; row < count; ++row)
        block(row, subspace) = labels[static_cast<std::size_t>(subspace)][begin + row];
    codes.add(std::as_const(block).view().slice(0, count));
  }
  codes_->finish();
}

void CodebookFiles::commit(Json& summary) {
  if (!outputs_) return;
  summary["files"] = facts_of_files({codebooks_, codes_});
  summary_->write(json_text(summary));
  outputs_->commit();
}

template <class T>
CodebookFacts facts_of(const KMeansBatchResult<T>& fit) {
  const KMeansResult<T>& first = fit.problems.front();
  CodebookFacts facts{.points = first.labels.size(),
                      .clusters = first.centroids.rows(),
                      .columns = first.centroids.columns(),
                      .inertias = {},
                      .iterations = {},
                      .report = fit.report};
  for (const KMeansResult<T>& one : fit.problems) {
    facts.inertias.push_back(one.inertia);
    facts.iterations.push_back(one.iterations);
    facts.converged = facts.converged && one.converged;
  }
  return facts;
}

double CodebookFacts::inertia() const { return std::accumulate(inertias.begin(), inertias.end(), 0.0); }

void add_facts(Json& summary, const CodebookFacts& facts) {
  summary["variant"] = facts.report.variant;
  summary["device"] = facts.report.device;
  summary["threads"] = facts.report.threads;
  summary["inertia"] = facts.inertia();
  summary["inertias"] = facts.inertias;
  summary["iterations"] = facts.iterations;
  summary["converged"] = facts.converged;
  summary["rechecked"] = facts.report.rechecked;
}

std::string codebook_line(const CodebookFacts& facts, std::string_view type, double seconds,
                          const std::string& threads) {
  const auto subspaces = std::ssize(facts.inertias);
  return fmt::format("{} x {} ({}) in {} of {} x {}: inertia {:.8g}, up to {}, {:.3g} s, {}, {}\n",
                     counted(facts.points, "point"), subspaces * facts.columns, type, counted(subspaces, "codebook"),
                     grouped(facts.clusters), facts.columns, facts.inertia(),
                     counted(*std::ranges::max_element(facts.iterations), "iteration"), seconds, facts.report.variant,
                     threads);
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

template void CodebookFiles::write(const KMeansBatchResult<float>&, const std::stop_token&);
template void CodebookFiles::write(const KMeansBatchResult<double>&, const std::stop_token&);
template CodebookFacts facts_of(const KMeansBatchResult<float>&);
template CodebookFacts facts_of(const KMeansBatchResult<double>&);

}  // namespace gradus::cli
