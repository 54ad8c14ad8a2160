// Pages of results, which `gradus report` and `gradus bench --report` write.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/page/page.hpp"
#include "cli/session.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

/// Returns a page of results. The paths are files or folders. Throws InputError if a file is not a result.
std::string page_of(const std::vector<std::string>& paths);
std::string page_of(const nlohmann::ordered_json& measurement);
/// Writes and commits the page of a finished job. The page begins with the answer, as charts and pictures that are not
/// in the summary, and continues with the summary.
void write_page(core::AtomicFile& file, const nlohmann::ordered_json& summary,
                const std::function<void(Page&)>& add_answer, const Session& session);
/// Returns a warning about this build for readers of the page, or "" if there is none.
std::string page_note();

}  // namespace gradus::cli
