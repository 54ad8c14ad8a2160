// What of a result stands on a page.
#pragma once

#include "bench/result_file.hpp"
#include "cli/page/page.hpp"

namespace gradus::cli {

/// A measurement of `gradus bench`: charts and tables of each group, what was published beside what was measured, the
/// verdicts on claims, and where and how all that was measured. InputError for what the file lacks.
void add_measurement(Page& page, const bench::ResultFile& result);

/// "scaling" in a result of bench/scaling/scaling.py: curves over numbers of ranks with their floors and the model,
/// what was to be reached, and what is predicted of many machines.
void add_scaling(Page& page, const bench::JsonValue& scaling);

/// The summary of a job: what was done, its time by parts, and whatever in it is a row of numbers.
void add_summary(Page& page, const bench::JsonValue& summary);

/// A key as words.
std::string with_spaces(std::string text);
/// Without quotes where it is a text, or a list of such.
std::string plain_text(const nlohmann::ordered_json& json);

}  // namespace gradus::cli
