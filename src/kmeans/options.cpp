#include "kmeans/options.hpp"

#include "core/text.hpp"
#include "gradus/error.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/ranks.hpp"
#include "ranks/same_call.hpp"

namespace gradus::kmeans_detail {

void check_options(const KMeansOptions& options) {
  core::check_options(options);
  core::check_options(options.checkpoint);
  if (options.checkpoint.resume && options.checkpoint.file.empty())
    throw UsageError("to resume a fit, the file of its checkpoint must be named");
}

std::string call_text(const char* call, const KMeansOptions& options) {
  return core::call_line("call", std::string(call)) + core::option_lines(options);
}

}  // namespace gradus::kmeans_detail
