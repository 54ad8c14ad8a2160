#include "cli/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/help.hpp"
#include "core/text.hpp"

// Defined by gradus_embed(): the contents of the files in this folder and of the chart library.
extern const unsigned char gradus_page_css[];
extern const std::size_t gradus_page_css_size;
extern const unsigned char gradus_page_js[];
extern const std::size_t gradus_page_js_size;
#ifdef GRADUS_CHARTS
extern const unsigned char gradus_chart_js[];
extern const std::size_t gradus_chart_js_size;
extern const unsigned char gradus_chart_license[];
extern const std::size_t gradus_chart_license_size;
#endif

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string_view embedded(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Returns the JSON as text for a script element. Escapes '<', so that no HTML parser takes a part of the JSON for the
/// end of the script.
std::string script_text(const Json& json) {
  std::string text;
  for (const char byte : json.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (byte == '<') text += "\\u003c";
    else text += byte;
  return text;
}

Json numbers(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const std::optional<double>& value : values)
    list.push_back(value && std::isfinite(*value) ? Json(*value) : Json(nullptr));
  return list;
}

Json spec_of(const Chart& chart) {
  constexpr std::string_view kinds[] = {"lines", "bars", "stacked", "points"};
  Json series = Json::array();
  for (const Series& one : chart.series) {
    series.push_back({{"name", one.name}, {"values", numbers(one.values)}});
    if (!one.at.empty()) series.back()["at"] = one.at;
    if (one.low.empty()) continue;
    series.back()["low"] = numbers(one.low);
    series.back()["high"] = numbers(one.high);
  }
  return {{"kind", kinds[static_cast<std::size_t>(chart.kind)]},
          {"x", chart.places_name},
          {"y", chart.values_name},
          {"log", chart.logarithmic},
          {"labels", chart.places},
          {"series", std::move(series)}};
}

struct Values {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

Values values_of_points(const Chart& chart, std::string (*text)(double)) {
  Values values{{"", chart.places_name, chart.values_name}, {}};
  for (const Series& one : chart.series)
    for (std::size_t point = 0; point < one.values.size(); ++point)
      values.rows.push_back({one.name, text(one.at[point]), one.values[point] ? text(*one.values[point]) : ""});
  return values;
}

Values values_of(const Chart& chart, std::string (*text)(double)) {
  if (chart.kind == Chart::Kind::points) return values_of_points(chart, text);
  Values values{{chart.places_name.empty() ? std::string("what") : chart.places_name}, {}};
  for (const Series& one : chart.series) {
    values.headings.push_back(one.name);
    if (!one.low.empty())
      values.headings.insert(values.headings.end(), {one.name + ", lowest", one.name + ", highest"});
  }
  const auto cell = [text](const std::vector<std::optional<double>>& list, std::size_t place) {
    return place < list.size() && list[place] ? text(*list[place]) : std::string();
  };
  for (std::size_t place = 0; place < chart.places.size(); ++place) {
    std::vector<std::string>& row = values.rows.emplace_back();
    row.push_back(chart.places[place]);
    for (const Series& one : chart.series) {
      row.push_back(cell(one.values, place));
      if (!one.low.empty()) row.insert(row.end(), {cell(one.low, place), cell(one.high, place)});
    }
  }
  return values;
}

std::string six_digits(double value) { return fmt::format("{:.6g}", value); }

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char byte : text) quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return quoted + "\"";
}

std::string csv_of(const Values& values) {
  std::string text;
  const auto add = [&text](const std::vector<std::string>& cells) {
    for (std::size_t index = 0; index < cells.size(); ++index) text += (index > 0 ? "," : "") + csv_field(cells[index]);
    text += '\n';
  };
  add(values.headings);
  for (const std::vector<std::string>& row : values.rows) add(row);
  return text;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    const bool plain = std::isalnum(code) != 0 || std::string_view("-_.~,:").find(byte) != std::string_view::npos;
    if (plain && code < 0x80) encoded += byte;
    else encoded += fmt::format("%{:02X}", code);
  }
  return encoded;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t index = 0; index < 3; ++index)
      group = group << 8 | (index < count ? std::to_integer<std::uint32_t>(bytes[at + index]) : 0);
    for (std::size_t index = 0; index < 4; ++index)
      text += index <= count ? digits[group >> (18 - 6 * index) & 63] : '=';
  }
  return text;
}

/// Converts a title such as "time by threads" to a file name.
std::string file_name(std::string_view title) {
  std::string name;
  for (const char byte : title.substr(0, 60)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80 && std::isalnum(code) != 0) name += static_cast<char>(std::tolower(code));
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  return name.empty() ? "values" : name;
}

std::string html_of(const PageTable& table) {
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  const auto open = [&table](std::string_view tag, std::size_t column, PageTable::Tone tone) {
    std::string classes = table.columns[column].words ? "words" : "";
    if (tone != PageTable::Tone::plain)
      classes += std::string(classes.empty() ? "" : " ") + (tone == PageTable::Tone::good ? "good" : "bad");
    return classes.empty() ? fmt::format("<{}>", tag) : fmt::format("<{} class=\"{}\">", tag, classes);
  };
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    html += open("th", column, PageTable::Tone::plain) + escaped(table.columns[column].heading) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<PageTable::Cell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t column = 0; column < row.size(); ++column)
      html += open("td", column, row[column].tone) + escaped(row[column].text) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

/// Hides the table until the reader opens it. A script then builds the table. This saves time, because tables make up
/// most of a large page. In a browser without scripts, the table is always visible.
std::string waiting(const std::string& table) { return Page::draws() ? "<noscript>" + table + "</noscript>" : table; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char byte : text) {
    switch (byte) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      case '\'': html += "&#39;"; break;
      default: html += byte;
    }
  }
  return html;
}

bool Page::draws() {
#ifdef GRADUS_CHARTS
  return true;
#else
  return false;
#endif
}

Page::Page(std::string_view title) : title_(title) { heading(1, title); }

void Page::heading(int level, std::string_view text) {
  body_ += fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
}

void Page::paragraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escaped(text)); }

void Page::faint(std::string_view text) { body_ += fmt::format("<p class=\"faint\">{}</p>\n", escaped(text)); }

void Page::table(const PageTable& table) { body_ += html_of(table); }

void Page::long_table(std::string_view name, const PageTable& table) {
  constexpr std::size_t most_rows_shown = 60;
  const bool shut = table.rows.size() > most_rows_shown;
  body_ += fmt::format("<details class=\"rows\"{}><summary>{}</summary>\n{}</details>\n", shut ? "" : " open",
                       escaped(name), shut ? waiting(html_of(table)) : html_of(table));
  has_script_ |= shut;
}

void Page::facts(const PageFacts& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts)
    body_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  body_ += "</dl>\n";
}

void Page::chart(const Chart& chart) {
  has_script_ = true;
  const Values values = values_of(chart, six_digits);
  PageTable table;
  for (const std::string& heading : values.headings) table.columns.push_back({heading, table.columns.empty()});
  for (const std::vector<std::string>& row : values.rows) table.rows.emplace_back(row.begin(), row.end());
  body_ += fmt::format(
      "<figure class=\"chart\"><h4>{}</h4>\n<script type=\"application/json\">{}</script>\n"
      "<details{}><summary>as a table: {}</summary>\n{}</details>\n"
      "<div class=\"tools\"><a download=\"{}.csv\" href=\"data:text/csv;charset=utf-8,{}\">CSV</a></div></figure>\n",
      escaped(chart.title), draws() ? script_text(spec_of(chart)) : "", values.rows.size() <= 200 ? " open" : "",
      escaped(chart.values_name), waiting(html_of(table)), file_name(chart.title),
      percent_encoded(csv_of(values_of(chart, core::number_text))));
}

void Page::pictures(const std::vector<PagePicture>& pictures) {
  constexpr std::int64_t small = 320;
  body_ += "<div class=\"pictures\">\n";
  for (const PagePicture& picture : pictures) {
    if (picture.png.empty()) {
      body_ += fmt::format("<figure><h4>{}</h4></figure>\n", escaped(picture.title));
      continue;
    }
    const std::int64_t scale = std::max<std::int64_t>(1, small / std::max(picture.width, picture.height));
    body_ += fmt::format(
        "<figure><h4>{0}</h4><img alt=\"{0}\" width=\"{1}\" height=\"{2}\" "
        "src=\"data:image/png;base64,{3}\"></figure>\n",
        escaped(picture.title), scale * picture.width, scale * picture.height, base64(picture.png));
  }
  body_ += "</div>\n";
}

std::string Page::html() const {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"gradus {}\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n{}",
      escaped(title_), version(), embedded(gradus_page_css, gradus_page_css_size), body_);
#ifdef GRADUS_CHARTS
  if (has_script_)
    html += fmt::format("<script>\n/*\n{}*/\n{}\n</script>\n<script>\n{}</script>\n",
                        embedded(gradus_chart_license, gradus_chart_license_size),
                        embedded(gradus_chart_js, gradus_chart_js_size), embedded(gradus_page_js, gradus_page_js_size));
#endif
  return html + "</body>\n</html>\n";
}

}  // namespace gradus::cli
