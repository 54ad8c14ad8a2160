// A page of HTML that stands alone: text, tables, and charts with the table of their values. It asks for nothing from
// anywhere, and without JavaScript the tables are what is left.
//
// All text may come from a stranger's file; none of it becomes markup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::cli {

/// A line, or the bars of a colour.
struct Series {
  std::string name;
  std::vector<std::optional<double>> values{};  ///< one for each place of the chart
  /// From where to where the samples lie; both empty where nothing is known of it.
  std::vector<std::optional<double>> low{};
  std::vector<std::optional<double>> high{};
  std::vector<double> at{};  ///< where each value stands, of points in a plane
};

struct Chart {
  enum class Kind : std::uint8_t {
    lines,    ///< over places in an order: threads, sizes
    bars,     ///< beside each other
    stacked,  ///< bars of parts, in per cent
    points    ///< in a plane; there are no places
  };
  Kind kind = Kind::bars;
  std::string title;
  std::string places_name{};          ///< what the places are: "threads"
  std::string values_name;            ///< what the values are, with their unit: "median, ms"
  std::vector<std::string> places{};  ///< in their order
  std::vector<Series> series{};
  bool logarithmic = false;  ///< at first; a reader can change it
};

/// Text in columns.
struct PageTable {
  struct Column {
    std::string heading;
    bool words = false;  ///< to the left, and broken into lines
  };
  /// How a cell is coloured.
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
  std::int64_t width = 0;  ///< in pixels; a small one is shown larger, each pixel a square
  std::int64_t height = 0;
  std::vector<std::byte> png;  ///< without any there is the title alone
};

using PageFacts = std::vector<std::pair<std::string, std::string>>;

class Page {
 public:
  explicit Page(std::string_view title);
  /// Level 1 is the page's own title, which is there.
  void heading(int level, std::string_view text);
  void paragraph(std::string_view text);
  void faint(std::string_view text);
  void table(const PageTable& table);
  /// A table that is shut at first where it is long.
  void long_table(std::string_view name, const PageTable& table);
  void facts(const PageFacts& facts);
  void chart(const Chart& chart);
  /// Beside each other, where there is room.
  void pictures(const std::vector<PagePicture>& pictures);
  std::string html() const;

  /// Whether this build can draw: it has a library for charts. Without it a page has tables alone.
  static bool draws();

 private:
  std::string title_;
  std::string body_;
  bool has_script_ = false;
};

/// The text as HTML shows it, also within quotes.
std::string escaped(std::string_view text);

}  // namespace gradus::cli
