// PDB: records of a line each, in columns of fixed width, lengths in ångström.
#include <algorithm>

#include <charconv>

#include "core/text.hpp"
#include "files/number.hpp"
#include "pair_histogram/files/trajectory_text.hpp"

namespace gradus::files {

namespace {

/// Returns the name of a record: columns 1 to 6, up to a blank. In large files, the number of an atom begins in
/// column 6.
std::string_view record_of(std::string_view text) {
  constexpr std::size_t columns = 6;
  return text.substr(0, std::min(columns, text.find_first_of(" \t")));
}

bool is_atom(std::string_view text) { return record_of(text) == "ATOM" || record_of(text) == "HETATM"; }
bool is_model(std::string_view text) { return record_of(text) == "MODEL"; }
bool is_end(std::string_view text) { return text.starts_with("ENDMDL") || trimmed(text) == "END"; }

class PdbFrames : public TextFrames {
 public:
  using TextFrames::TextFrames;

 private:
  /// Columns of an atom's line, counted from 0.
  struct Field {
    std::size_t begin;
    std::size_t length;
    std::string_view in(std::string_view text) const {
      return begin < text.size() ? trimmed(text.substr(begin, length)) : std::string_view();
    }
  };

  bool at_end() override {
    for (auto next = peek(); next; next = peek()) {
      if (is_atom(*next) || is_model(*next)) return false;
      read_other(line("a record"));
    }
    return true;
  }

  Frame read_frame(FrameParts parts) override {
    if (at_end()) line("an atom (ATOM or HETATM)");  // throws, because nothing is left
    const bool has_model = is_model(*peek());
    if (has_model) line("a record");
    Atoms atoms;
    bool ended = false;
    std::int64_t count = 0;
    for (auto next = peek(); next && !ended; next = peek()) {
      if (is_model(*next) || (count > 0 && next->starts_with("CRYST1"))) break;
      const std::string_view text = line("a record");
      ended = is_end(text);
      if (!is_atom(text)) read_other(text);
      else if (honour_stop(count++); parts == FrameParts::all) read_atom(text, atoms);
    }
    began_ = true;
    if (has_model && !ended) line("the end of the model (ENDMDL)");
    if (!had_cell_) at_end();  // a cell that follows is refused, also if no other frame is read
    Frame frame;
    if (parts == FrameParts::all) {
      frame.points = points_of(std::move(atoms.coordinates));
      if (labels()) set_labels(atoms, frame.labels);
    }
    if (parts != FrameParts::none) set_cell(frame);
    return frame;
  }

  struct Atoms {
    std::vector<double> coordinates;
    AtomWordsBuilder names;
    AtomWordsBuilder residues;
    ResidueBuilder residue_numbers;
    AtomWordsBuilder elements;
    std::vector<std::int64_t> ids;
    bool has_elements = true;
    bool has_ids = true;
  };

  void read_atom(std::string_view text, Atoms& atoms) const {
    static constexpr std::array<Field, trajectory_axes> coordinates = {{{30, 8}, {38, 8}, {46, 8}}};
    static constexpr std::array<const char*, trajectory_axes> axis_names = {"x", "y", "z"};
    constexpr std::size_t least = 54;
    if (text.size() < least)
      fail(std::to_string(text.size()) + " characters, but " + std::to_string(least) + " are needed for an atom");
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
      atoms.coordinates.push_back(number(coordinates[axis].in(text), axis_names[axis]));
    if (!labels()) return;
    atoms.names.add(Field{12, 4}.in(text));
    atoms.residues.add(Field{17, 4}.in(text));
    atoms.residue_numbers.add(text.substr(17, 10));  // the name, the chain, the number and the code of insertion
    const std::string_view element = Field{76, 2}.in(text);
    atoms.has_elements = atoms.has_elements && !element.empty();
    atoms.elements.add(element);
    const std::string_view word = text[4] == ' ' ? Field{5, 6}.in(text) : Field{6, 5}.in(text);
    std::int64_t id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    atoms.has_ids = atoms.has_ids && error == std::errc{} && stop == word.data() + word.size();
    atoms.ids.push_back(id);
  }

  static void set_labels(Atoms& atoms, AtomLabels& of_frame) {
    of_frame.names = atoms.names.finish();
    of_frame.residues = atoms.residues.finish();
    of_frame.residue_numbers = atoms.residue_numbers.finish();
    if (atoms.has_elements) of_frame.elements = atoms.elements.finish();
    // Large files have letters or asterisks in place of the numbers.
    if (atoms.has_ids) of_frame.ids = std::make_shared<const std::vector<std::int64_t>>(std::move(atoms.ids));
  }

  /// Reads the cell if the record has one. A cell counts for all frames that follow. Ignores other records, but throws
  /// InputError if the name is nearly the name of a record that is read.
  void read_other(std::string_view text) {
    if (!text.starts_with("CRYST1")) {
      if (is_end(text) || record_of(text) == "CONECT") return;
      const std::string_view record = record_of(trimmed(text));
      for (const char* const known : {"ATOM", "HETATM", "MODEL", "ENDMDL", "CRYST1", "CONECT", "END"})
        if (is_nearly(record, known))
          fail("the record " + core::excerpt(record) + " is unknown; is it a damaged " + known +
               "? Names of records are upper-case and begin in column 1");
      return;
    }
    static constexpr std::array<Field, 2 * trajectory_axes> fields = {
        {{6, 9}, {15, 9}, {24, 9}, {33, 7}, {40, 7}, {47, 7}}};
    std::array<double, 2 * trajectory_axes> numbers{};
    for (std::size_t index = 0; index < fields.size(); ++index) numbers[index] = number(fields[index].in(text), "cell");
    const auto [a, b, c, alpha, beta, gamma] = numbers;
    if (began_ && !had_cell_)
      fail("CRYST1 follows the first model, and may belong to either side; put it before the model that it describes");
    had_cell_ = true;
    cell_.reset();
    crystal_.clear();
    const bool is_zero = a == 0 && b == 0 && c == 0;
    const bool is_placeholder = a == 1 && b == 1 && c == 1;  // structures without a crystal have such a cell
    if (is_zero || is_placeholder) return;
    cell_ = vectors_of_angles({a, b, c}, {alpha, beta, gamma});
    if (!cell_ || !(a > 0 && b > 0 && c > 0)) fail("there is no cell with these lengths and angles");
    const std::string_view group = Field{55, 11}.in(text);
    if (!group.empty() && group != "P 1" && group != "P1")
      crystal_ = place() + ": the cell has the space group " + core::excerpt(group) +
                 ", so that the file may hold a part of the cell alone; write all atoms of the cell, or give the box";
  }

  void set_cell(Frame& frame) const {
    if (!crystal_.empty()) frame.undecided_box = crystal_;
    else if (cell_) set_box(frame, *cell_, {}, "xyz");
  }

  bool began_ = false;     ///< true after the first frame
  bool had_cell_ = false;  ///< true after the first CRYST1
  std::optional<BoxVectors> cell_;
  std::string crystal_;  ///< the reason why the cell does not determine the box
};

}  // namespace

extern constinit const TrajectoryFormat pdb_trajectories{
    .file =
        {.name = "PDB",
         .endings = ".pdb .ent",
         .rules =
             "The records `ATOM` and `HETATM` in their columns. A frame ends with `ENDMDL` or `END`. Alternate "
             "locations are atoms, too. `CRYST1` gives the box of the frames that follow, unless its lengths "
             "are all 1 or 0; with a space group other than P 1 give `--box`. Names, residues, elements and "
             "ids are read for selections. Other records are ignored, but a damaged name, such as `ATOMM`, is refused"},
    .unit = LengthUnit::angstrom,
    .recognises =
        [](std::string_view beginning) {
          constexpr std::array<std::string_view, 8> records = {"HEADER", "TITLE ", "CRYST1", "REMARK",
                                                               "MODEL ", "ATOM  ", "HETATM", "COMPND"};
          const auto has = [&](std::string_view text) { return beginning.find(text) != std::string_view::npos; };
          return std::ranges::any_of(records, [&](std::string_view one) { return beginning.starts_with(one); }) &&
                 (is_atom(beginning) || has("\nATOM  ") || has("\nHETATM"));
        },
    .of_text = make_frame_parser<PdbFrames>,
};

}  // namespace gradus::files
