// Pages of results, as `gradus report` and `gradus bench --report` write them.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/page/page.hpp"
#include "cli/session.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

/// The page of these results and folders of results. InputError for a file that is none.
std::string page_of(const std::vector<std::string>& paths);
/// That of a measurement that has just been made.
std::string page_of(const nlohmann::ordered_json& measurement);
/// Writes and commits the page of a job that has just been done: the answer, by charts and pictures of what its summary
/// does not hold, then the summary.
void write_page(core::AtomicFile& file, const nlohmann::ordered_json& summary,
                const std::function<void(Page&)>& add_answer, const Session& session);
/// What a reader of the page should know of this build; "" if there is nothing.
std::string page_note();

}  // namespace gradus::cli
