// The sections of a results page.
#pragma once

#include "bench/result_file.hpp"
#include "cli/page/page.hpp"

namespace gradus::cli {

/// Adds a measurement of `gradus bench`: charts and tables of each group, published and measured figures, the verdicts
/// on claims, and the conditions of the measurement. Throws InputError if the file lacks a field.
void add_measurement(Page& page, const bench::ResultFile& result);

/// Adds the "scaling" member of a result. For a result of bench/scaling/scaling.py: curves over the number of ranks,
/// each with its floor, the model, the targets, and the prediction for many machines. For a result of
/// bench/scaling/gpus.py: curves over the number of GPUs.
void add_scaling(Page& page, const bench::JsonValue& scaling);

/// Adds the summary of a job: the work, the time of each part of the job, and charts of the lists of numbers in the
/// summary.
void add_summary(Page& page, const bench::JsonValue& summary);

std::string with_spaces(std::string text);
/// Formats strings, and lists of strings, without quotes.
std::string plain_text(const nlohmann::ordered_json& json);

}  // namespace gradus::cli
