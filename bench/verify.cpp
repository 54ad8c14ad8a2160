#include "bench/verify.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "core/phases.hpp"
#include "kmeans/cases.hpp"

namespace gradus::bench {

namespace {

constexpr std::size_t differences_kept = 5;

std::vector<const kmeans_detail::Variant*> wanted_variants(const VerifyOptions& options) {
  std::vector<const kmeans_detail::Variant*> wanted;
  const auto on_wanted_device = [&](const kmeans_detail::Variant& variant) {
    return options.device == Device::automatic ||
           (options.device == Device::gpu) == (variant.backend == core::Backend::cuda);
  };
  if (options.variants.empty())
    for (const auto& variant : kmeans_detail::variants())
      if (on_wanted_device(variant)) wanted.push_back(&variant);
  for (const std::string& name : options.variants)
    wanted.push_back(&core::find_variant(kmeans_detail::variants(), name, "kmeans"));
  return wanted;
}

std::vector<const kmeans_detail::Case*> wanted_cases(const VerifyOptions& options) {
  std::vector<const kmeans_detail::Case*> wanted;
  std::vector<std::string_view> names;
  for (const auto& one : kmeans_detail::cases()) {
    names.push_back(one.name);
    if (options.cases.empty()) wanted.push_back(&one);
  }
  for (const std::string& name : options.cases) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError("there is no kmeans case '" + name + "'" + core::did_you_mean(name, names) +
                       "; 'gradus verify kmeans --list-cases' shows all of them");
    wanted.push_back(&kmeans_detail::cases()[static_cast<std::size_t>(found - names.begin())]);
  }
  return wanted;
}

std::string check(const auto& prepared, const kmeans_detail::Variant& variant, const Execution& execution) {
  try {
    return prepared.check(variant, execution);
  } catch (const std::exception& error) {
    return std::string("it failed: ") + error.what();
  }
}

// One case in one type for every variant; `rows` are the rows of that type, one per variant.
template <class T>
void verify_case(const kmeans_detail::Case& one, const kmeans_detail::CaseData& data, int seed,
                 const VerifyOptions& options, const std::vector<const kmeans_detail::Variant*>& variants,
                 std::vector<VerifyRow>& rows) {
  const kmeans_detail::PreparedCase<T> prepared(data);
  for (std::size_t index = 0; index < variants.size(); ++index) {
    const kmeans_detail::Variant& variant = *variants[index];
    VerifyRow& row = rows[index];
    const core::Support support = variant.supports(prepared.shape(), cpu::this_machine());
    // Where ties or cancellation decide, the textbook's arithmetic makes no promise.
    const bool promised = variant.contract == core::Contract::same_bits || data.well_conditioned;
    if (!support || !promised) {
      ++row.cases_left_out;
      if (!support) row.skipped = support.reason;
      continue;
    }
    const auto start = core::Clock::now();
    bool passed = true;
    for (const core::Way& way : core::ways_to_run(variant, options.threads)) {
      const std::string difference = check(prepared, variant, way.execution);
      ++row.checks;
      if (difference.empty()) continue;
      passed = false;
      if (row.differences.size() < differences_kept)
        row.differences.push_back(one.name + ", seed " + std::to_string(seed) + ", " + way.text + ": " + difference);
    }
    row.seconds += core::seconds_since(start);
    ++row.cases;
    row.cases_passed += passed;
  }
}

std::vector<VerifyRow> empty_rows(const std::vector<const kmeans_detail::Variant*>& variants, const char* dtype) {
  std::vector<VerifyRow> rows;
  for (const auto* variant : variants) {
    VerifyRow row;
    row.variant = variant->name;
    row.dtype = dtype;
    row.contract = variant->contract;
    row.tolerance = variant->tolerance;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

bool VerifyReport::right() const {
  const auto has_failed = [](const VerifyRow& row) { return row.cases_passed != row.cases; };
  const auto has_run = [](const VerifyRow& row) { return row.checks > 0; };
  return std::any_of(rows.begin(), rows.end(), has_run) && std::none_of(rows.begin(), rows.end(), has_failed);
}

VerifyReport verify_kmeans(const VerifyOptions& options, const VerifyProgress& progress) {
  const auto variants = wanted_variants(options);
  const auto cases = wanted_cases(options);
  std::vector<VerifyRow> rows_f32 = empty_rows(variants, "f32");
  std::vector<VerifyRow> rows_f64 = empty_rows(variants, "f64");
  const std::int64_t total = static_cast<std::int64_t>(cases.size()) * options.seeds;
  std::int64_t done = 0;
  for (const kmeans_detail::Case* one : cases)
    for (int seed = 1; seed <= options.seeds; ++seed) {
      if (progress) progress(done, total, one->name);
      const kmeans_detail::CaseData data = one->make(static_cast<std::uint64_t>(seed));
      verify_case<float>(*one, data, seed, options, variants, rows_f32);
      verify_case<double>(*one, data, seed, options, variants, rows_f64);
      ++done;
    }
  if (progress) progress(done, total, "");

  VerifyReport report{"kmeans", options, {}};
  for (std::size_t index = 0; index < variants.size(); ++index)
    for (VerifyRow* row : {&rows_f32[index], &rows_f64[index]}) {
      if (row->checks > 0) row->skipped.clear();
      else if (row->skipped.empty()) row->skipped = "none of the cases is within its contract";
      report.rows.push_back(std::move(*row));
    }
  return report;
}

nlohmann::json to_json(const VerifyReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const VerifyRow& row : report.rows)
    rows.push_back({{"variant", row.variant},
                    {"dtype", row.dtype},
                    {"contract", row.contract == core::Contract::same_bits ? "same bits" : "tolerance"},
                    {"tolerance", row.tolerance},
                    {"skipped", row.skipped.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.skipped)},
                    {"cases", row.cases},
                    {"cases_passed", row.cases_passed},
                    {"cases_left_out", row.cases_left_out},
                    {"checks", row.checks},
                    {"seconds", row.seconds},
                    {"differences", row.differences}});
  return {{"problem", report.problem},
          {"right", report.right()},
          {"seeds", report.options.seeds},
          {"threads", report.options.threads},
          {"variants", rows}};
}

}  // namespace gradus::bench
