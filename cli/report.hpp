// Pages of results, as `gradus report` and `gradus bench --report` write them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/page/page.hpp"

namespace gradus::cli {

/// The page of these results and folders of results. InputError for a file that is none.
std::string page_of(const std::vector<std::string>& paths);
/// That of a measurement that has just been made.
std::string page_of(const nlohmann::ordered_json& measurement);
/// That of the summary of a job that has just been done, with charts of what it does not hold.
std::string page_of_summary(const nlohmann::ordered_json& summary, const std::vector<Chart>& charts);
/// What a reader of the page should know of this build; "" if there is nothing.
std::string page_note();

}  // namespace gradus::cli
