// A self-contained HTML page with text, tables and charts. The page also has a table with the values of each chart. The
// page loads nothing from elsewhere. Without JavaScript, it shows the tables instead of the charts.
//
// Text may come from an untrusted file and never becomes markup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::cli {

/// The values of one line of a chart, or of all bars of one colour.
struct Series {
  std::string name;
  std::vector<std::optional<double>> values{};  ///< one value for each place of the chart
  /// The range of the samples for each value. Both lists are empty if the range is unknown.
  std::vector<std::optional<double>> low{};
  std::vector<std::optional<double>> high{};
  std::vector<double> at{};  ///< the x coordinates of points in a plane
};

struct Chart {
  enum class Kind : std::uint8_t {
    lines,  ///< lines over ordered places, such as threads or sizes
    bars,
    stacked,  ///< bars that are divided into parts, in per cent
    points    ///< points in a plane, without places
  };
  Kind kind = Kind::bars;
  std::string title;
  std::string places_name{};          ///< meaning of the places, for example "threads"
  std::string values_name;            ///< meaning and unit of the values, for example "median, ms"
  std::vector<std::string> places{};  ///< names of the places, in display order
  std::vector<Series> series{};
  bool logarithmic = false;  ///< true: the scale of the values is logarithmic until the reader changes it
};

struct PageTable {
  struct Column {
    std::string heading;
    bool words = false;  ///< true: the column is aligned left and wrapped
  };
  enum class Tone : std::uint8_t { plain, good, bad };
  struct Cell {
    std::string text;
    Tone tone = Tone::plain;
    Cell(std::string said, Tone how = Tone::plain) : text(std::move(said)), tone(how) {}  // NOLINT: a cell is a text
    Cell(const char* said) : text(said) {}                                                // NOLINT
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct PagePicture {
  std::string title;
  std::int64_t width = 0;  ///< size in pixels; small pictures are enlarged, so that each pixel is a square
  std::int64_t height = 0;
  std::vector<std::byte> png;  ///< content of the picture; empty: only the title is shown
};

using PageFacts = std::vector<std::pair<std::string, std::string>>;

class Page {
 public:
  explicit Page(std::string_view title);
  /// Adds a heading. Level 1 is reserved for the title, which the page already has.
  void heading(int level, std::string_view text);
  void paragraph(std::string_view text);
  void faint(std::string_view text);
  void table(const PageTable& table);
  /// Adds a table. A long table is collapsed until the reader opens it.
  void long_table(std::string_view name, const PageTable& table);
  void facts(const PageFacts& facts);
  void chart(const Chart& chart);
  /// Adds pictures. They are side by side if there is room.
  void pictures(const std::vector<PagePicture>& pictures);
  std::string html() const;

  /// Returns true if this build includes the chart library. Without it, a page has only tables.
  static bool draws();

 private:
  std::string title_;
  std::string body_;
  bool has_script_ = false;
};

/// Escapes text for HTML, including attribute values.
std::string escaped(std::string_view text);

}  // namespace gradus::cli
