// The problems of a batch: the matrix and the memory of each problem.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "execution/request.hpp"
#include "gradus/kmeans_batch.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

/// Throws UnsupportedError if memory is on a GPU, or if a GPU was asked for.
void require_cpu_for_batch(const Execution& execution, std::initializer_list<execution::NamedPlace> places);

template <class T>
struct BatchProblems {
  PointRows<T> first;
  std::int64_t stride;
  std::int64_t count;
  const KMeansBatchMemory<T>& memory;

  /// Throws the errors of kmeans_batch() that do not depend on the values of the points.
  void check(const KMeansOptions& options, const Execution& execution) const;
  /// Returns the shape of one problem.
  KMeansShape shape() const;
  PointRows<T> matrix(std::int64_t problem) const;
  KMeansMemory<T> memory_of(std::int64_t problem) const;

 private:
  template <class Element>
  void check_rows(MatrixView<Element> rows, const char* what, std::int64_t number) const;
  /// Throws UsageError if the labels of any problem overlap the inputs of this problem.
  void check_apart(std::int64_t problem) const;
};

}  // namespace gradus::kmeans_detail
