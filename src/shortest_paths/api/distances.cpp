// shortest_paths()
#include "gradus/shortest_paths.hpp"
#include "shortest_paths/api/steps.hpp"

namespace gradus::detail {

namespace room = shortest_paths_detail;

template <class T>
ShortestPathsResult<T> shortest_paths(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const execution::Timing timing;
  return room::compute(room::check<T>(weights, options, memory, execution), timing);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const execution::Timing timing;
  return room::compute(room::check<T>(edges, options, memory, execution), timing);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const execution::Timing timing;
  return room::compute(room::check<T>(edges, options, memory, execution), timing);
}

#define GRADUS_INSTANTIATE(T)                                                                      \
  template ShortestPathsResult<T> shortest_paths(MatrixView<const T>, const ShortestPathsOptions&, \
                                                 const ShortestPathsMemory<T>&, const Execution&); \
  template ShortestPathsResult<T> shortest_paths(const EdgeView<T>&, const ShortestPathsOptions&,  \
                                                 const ShortestPathsMemory<T>&, const Execution&); \
  template ShortestPathsResult<T> shortest_paths(const CsrView<T>&, const ShortestPathsOptions&,   \
                                                 const ShortestPathsMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::detail
