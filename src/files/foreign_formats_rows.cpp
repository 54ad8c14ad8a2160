// The rows of foreign formats. Includes the functions that recognise a format without a signature by its content.
#include <algorithm>
#include <cctype>

#include "files/foreign_formats.hpp"
#include "files/number.hpp"

namespace gradus::files {

namespace {

using namespace std::string_view_literals;
using Kind = Remedy::Kind;

constexpr unsigned points = Remedy::bit(Reader::points);
constexpr unsigned graph = Remedy::bit(Reader::graph);
constexpr unsigned frames = Remedy::bit(Reader::frames);
constexpr unsigned pattern = Remedy::bit(Reader::pattern);
constexpr unsigned tables = points | graph | frames;
constexpr unsigned sets = points | frames;
constexpr unsigned all = tables | pattern;

constexpr Remedy python(unsigned readers, std::string_view text) { return {Kind::python, readers, text}; }
constexpr Remedy pandas(unsigned readers, std::string_view text) { return {Kind::pandas, readers, text}; }
constexpr Remedy array(unsigned readers, std::string_view imports, std::string_view text) {
  return {Kind::array, readers, text, imports};
}
constexpr Remedy matrix(std::string_view imports, std::string_view text) {
  return {Kind::matrix, graph, text, imports};
}
constexpr Remedy networkx(std::string_view text, std::string_view package = {}) {
  return {Kind::networkx, graph, text, package};
}
constexpr Remedy shell(unsigned readers, std::string_view text) { return {Kind::shell, readers, text}; }
constexpr Remedy advice(unsigned readers, std::string_view text) { return {Kind::advice, readers, text}; }

constexpr std::size_t bytes_searched = std::size_t{1} << 16;

bool contains(std::string_view text, std::string_view part) {
  return text.substr(0, bytes_searched).find(part) != std::string_view::npos;
}

/// Returns true for a ZIP archive that contains `part`. Searches the directory at the end of the file.
bool zip_with(std::string_view bytes, std::string_view part) {
  const std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), bytes_searched));
  return bytes.starts_with("PK\x03\x04") && (contains(bytes, part) || contains(end, part));
}

/// Returns the text in lower case, from the first XML or HTML element on.
std::string markup(std::string_view bytes) {
  constexpr std::size_t enough = 4096;
  std::string text(bytes.substr(0, enough));
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string::npos || text[begin] != '<' ? "" : text.substr(begin);
}
bool xml_with(std::string_view bytes, std::string_view element) { return contains(markup(bytes), element); }

/// Returns the line with this number, counted from 0, without its end.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 0 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const std::string_view line = text.substr(0, text.find('\n'));
  return trimmed(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
}

/// The beginning of a text: the first line that is neither blank nor a comment. Holds the line's first word, in lower
/// case, and the rest of the line.
struct Opening {
  std::string word;
  std::string_view rest;
};
Opening opening_of(std::string_view text, std::string_view comment) {
  text = text.substr(0, bytes_searched);
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    if (!text.starts_with(comment)) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  const std::size_t length = std::min(text.find_first_of(" \t\r\n["), text.size());
  std::string word(text.substr(0, length));
  std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::tolower(letter); });
  text.remove_prefix(length);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return {std::move(word), text};
}

bool are_numbers(std::string_view line, std::size_t count) {
  std::size_t found = 0;
  while (!line.empty()) {
    const std::size_t length = std::min(line.find_first_of(" \t"), line.size());
    if (!is_number(line.substr(0, length))) return false;
    line = trimmed(line.substr(length));
    ++found;
  }
  return found == count;
}

bool is_json(std::string_view bytes) {
  const Opening opening = opening_of(bytes, "//");
  const std::string text = opening.word + std::string(opening.rest.substr(0, 80));
  const std::size_t second = text.find_first_not_of(" \t\r\n", 1);
  if (text.empty() || second == std::string::npos) return false;
  const std::string_view expected = text[0] == '{' ? "\"}" : text[0] == '[' ? "{[\"0123456789-]" : "";
  return expected.find(text[second]) != std::string_view::npos;
}
bool is_json_lines(std::string_view bytes) { return bytes.starts_with('{') && line_of(bytes, 1).starts_with('{'); }
bool is_html(std::string_view bytes) {
  const std::string text = markup(bytes);
  return text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<head");
}
bool is_gml(std::string_view bytes) {
  const Opening opening = opening_of(bytes, "#");
  return (opening.word == "graph" && opening.rest.starts_with('[')) ||
         (opening.word == "creator" && contains(bytes, "graph") && contains(bytes, "["));
}
bool is_dot(std::string_view bytes) {
  const Opening opening = opening_of(bytes, "//");
  if (opening.word != "graph" && opening.word != "digraph" && opening.word != "strict") return false;
  const std::size_t brace = opening.rest.find('{');
  return brace < opening.rest.size() && opening.rest.find_first_of(",;\t") > brace;
}
bool is_pajek(std::string_view bytes) {
  const std::string word = opening_of(bytes, "%").word;
  return word == "*vertices" || word == "*network";
}
bool is_pdb(std::string_view bytes) {
  constexpr std::array records = {"HEADER"sv, "TITLE "sv, "CRYST1"sv, "REMARK"sv,
                                  "MODEL "sv, "ATOM  "sv, "HETATM"sv, "COMPND"sv};
  const auto begins = [&](std::string_view record) { return bytes.starts_with(record); };
  const bool atoms = bytes.starts_with("ATOM  ") || contains(bytes, "\nATOM  ") || contains(bytes, "\nHETATM");
  return std::ranges::any_of(records, begins) && atoms;
}
bool is_cif(std::string_view bytes) {
  return opening_of(bytes, "#").word.starts_with("data_") && (contains(bytes, "\n_") || contains(bytes, "\nloop_"));
}
bool is_poscar(std::string_view bytes) {
  for (std::size_t row = 2; row < 5; ++row)
    if (!are_numbers(line_of(bytes, row), 3)) return false;
  if (!are_numbers(line_of(bytes, 1), 1)) return false;
  for (std::size_t row = 6; row < 9; ++row) {
    const std::string_view line = line_of(bytes, row);
    if (!line.empty() && "DdCcKk"sv.find(line.front()) != std::string_view::npos) return true;
  }
  return false;
}
bool is_lammps_data(std::string_view bytes) { return contains(bytes, " atoms") && contains(bytes, " xlo xhi"); }
bool is_picture(std::string_view bytes) {
  const bool bitmap = bytes.size() > 10 && bytes.starts_with("BM") && bytes.substr(6, 4) == "\0\0\0\0"sv;
  const bool webp = bytes.starts_with("RIFF") && bytes.substr(std::min<std::size_t>(bytes.size(), 8), 4) == "WEBP";
  const bool heif = bytes.starts_with('\0') && bytes.substr(std::min<std::size_t>(bytes.size(), 4), 4) == "ftyp";
  return bitmap || webp || heif || bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv) ||
         bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a");
}
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] < 6;
}
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 10 && bytes.substr(4, 4) == "\0\0\0\0"sv && bytes.substr(8, 2) == "{\"";
}
bool is_r_data(std::string_view bytes) {
  return bytes.starts_with("RDX2") || bytes.starts_with("RDX3") || bytes.starts_with("X\n\0\0\0"sv) ||
         bytes.starts_with("\x1f\x8b");  // R writes gzip-compressed files
}
bool is_tar(std::string_view bytes) { return bytes.size() > 262 && bytes.substr(257, 5) == "ustar"; }

constexpr ForeignFormat rows[] = {
    // ---- Placeholders for a file ----
    {"a Git LFS pointer, which stands for a file that was not fetched",
     "",
     "version https://git-lfs.github.com/spec/",
     nullptr,
     {shell(all, "git lfs pull --include={in}")}},
    {"a web page (HTML)",
     ".html .htm",
     "",
     is_html,
     {advice(all,
             "a download that gives a page where a file is expected often needs a log-in or another address; a table "
             "in a page is saved by python3 -c \"import pandas; pandas.read_html('{in}')[0].to_csv('{out}.csv', "
             "index=False)\"")}},
    {"a PDF document",
     ".pdf",
     "%PDF-",
     nullptr,
     {advice(all, "the numbers of a table in it are found by, for example, 'pdftotext -layout {in} {out}.txt'")}},
    {"text in UTF-16", "", "\xff\xfe", nullptr, {shell(all, "iconv -f UTF-16 -t UTF-8 {in} > {out}{ending}")}},
    {"text in UTF-16", "", "\xfe\xff", nullptr, {shell(all, "iconv -f UTF-16 -t UTF-8 {in} > {out}{ending}")}},

    // ---- Tables ----
    {"a Parquet file", ".parquet .pq", "PAR1\x15", nullptr, {pandas(tables, "read_parquet('{in}')")}},
    {"a Feather or Arrow file", ".feather .arrow", "ARROW1", nullptr, {pandas(tables, "read_feather('{in}')")}},
    {"an ORC file", ".orc", "ORC\x12", nullptr, {pandas(tables, "read_orc('{in}')")}},
    {"an Avro file",
     ".avro",
     "Obj\x01",
     nullptr,
     {python(tables,
             "import fastavro, pandas; pandas.DataFrame(fastavro.reader(open('{in}', 'rb'))).to_csv('{out}.csv', "
             "index=False)")}},
    {"an Excel workbook",
     ".xlsx .xlsm",
     "",
     [](std::string_view bytes) { return zip_with(bytes, "xl/worksheets/"); },
     {pandas(tables, "read_excel('{in}')")}},
    {"an OpenDocument spreadsheet",
     ".ods",
     "",
     [](std::string_view bytes) { return zip_with(bytes, "vnd.oasis.opendocument.spreadsheet"); },
     {pandas(tables, "read_excel('{in}')")}},
    {"an Excel workbook of the old format",
     ".xls",
     "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     nullptr,
     {pandas(tables, "read_excel('{in}')")}},
    {"a Stata file", ".dta", "<stata_dta>", nullptr, {pandas(tables, "read_stata('{in}')")}},
    {"a SAS file", ".sas7bdat .xpt", "", nullptr, {pandas(tables, "read_sas('{in}')")}},
    {"an SPSS file", ".sav .zsav", "$FL2", nullptr, {pandas(tables, "read_spss('{in}')")}},
    {"an SQLite database",
     ".sqlite .sqlite3 .db",
     "SQLite format 3\0"sv,
     nullptr,
     {python(tables,
             "import pandas, sqlite3; pandas.read_sql('SELECT * FROM NAME', "
             "sqlite3.connect('{in}')).to_csv('{out}.csv', index=False)")}},
    {"JSON, a line for each row",
     ".jsonl .ndjson",
     "",
     is_json_lines,
     {pandas(tables, "read_json('{in}', lines=True)")}},
    {"JSON",
     ".json .geojson",
     "",
     is_json,
     {networkx("(lambda j: networkx.node_link_graph(j, edges='links' if 'links' in j else 'edges'))"
               "(__import__('json').load(open('{in}')))"),
      pandas(sets, "read_json('{in}')")}},

    // ---- Arrays ----
    {"a sparse matrix, as scipy.sparse.save_npz writes it",
     "",
     "",
     [](std::string_view bytes) {
       return zip_with(bytes, "format.npy") &&
              (zip_with(bytes, "indices.npy") || zip_with(bytes, "row.npy") || zip_with(bytes, "offsets.npy"));
     },
     {array(sets, "scipy.sparse", "scipy.sparse.load_npz('{in}').toarray()"),
      matrix("scipy.sparse", "scipy.sparse.load_npz('{in}')")}},
    {"an archive of NumPy arrays",
     ".npz",
     "",
     [](std::string_view bytes) { return zip_with(bytes, ".npy"); },
     {array(graph, "", "numpy.load('{in}')['NAME']"), advice(sets, "give the name of a file that ends in .npz")},
     sets},
    {"a .npy array",
     ".npy",
     "\x93NUMPY",
     nullptr,
     {advice(tables, "give the name of a file that ends in .npy")},
     tables},
    {"a model or tensor of PyTorch",
     ".pt .pth",
     "",
     [](std::string_view bytes) { return zip_with(bytes, "/data.pkl"); },
     {array(tables, "torch", "torch.load('{in}').numpy()")}},
    {"a safetensors file",
     ".safetensors",
     "",
     is_safetensors,
     {array(graph, "safetensors.numpy", "safetensors.numpy.load_file('{in}')['NAME']"),
      advice(sets, "give the name of a file that ends in .safetensors")},
     sets},
    {"a pickle of Python",
     ".pkl .pickle .joblib .gpickle",
     "",
     is_pickle,
     {networkx("__import__('pickle').load(open('{in}', 'rb'))"), array(sets, "pandas", "pandas.read_pickle('{in}')")}},
    {"a MATLAB file of version 7.3",
     "",
     "MATLAB 7.3 MAT-file",
     nullptr,
     {array(tables, "h5py", "h5py.File('{in}')['NAME'][()].T")}},
    {"a MATLAB file",
     ".mat",
     "MATLAB 5.0 MAT-file",
     nullptr,
     {array(sets, "scipy.io", "scipy.io.loadmat('{in}')['NAME']"),
      matrix("scipy.sparse", "scipy.sparse.coo_array(scipy.io.loadmat('{in}')['NAME'])")}},
    {"an HDF5 file",
     ".h5 .hdf5 .hdf .he5",
     "\x89HDF\r\n\x1a\n",
     nullptr,
     {array(graph, "h5py", "h5py.File('{in}')['NAME'][()]"), advice(sets, "give the name of a file that ends in .h5")},
     sets},
    {"an AnnData file (HDF5)",
     ".h5ad",
     "\x89HDF\r\n\x1a\n",
     nullptr,
     {array(tables, "anndata, scipy.sparse", "scipy.sparse.csr_array(anndata.read_h5ad('{in}').X).toarray()")}},
    {"an H5MD trajectory (HDF5)",
     ".h5md",
     "\x89HDF\r\n\x1a\n",
     nullptr,
     {array(sets, "h5py", "h5py.File('{in}')['particles/all/position/value'][0]")}},
    {"a NetCDF file (HDF5)",
     ".nc4",
     "\x89HDF\r\n\x1a\n",
     nullptr,
     {array(tables, "h5py", "h5py.File('{in}')['NAME'][()]")}},
    {"a FITS file",
     ".fits .fit .fts",
     "SIMPLE  =",
     nullptr,
     {python(tables, "import astropy.table; astropy.table.Table.read('{in}').write('{out}.csv')")}},
    {"a file of vectors", ".fvecs .bvecs .ivecs .fbin .u8bin .i8bin", "", nullptr, {}, sets},

    // ---- Points in space, and images ----
    {"a LAS or LAZ point cloud", ".las .laz", "LASF", nullptr, {array(sets, "laspy", "laspy.read('{in}').xyz")}},
    {"a PLY model",
     ".ply",
     "ply\n",
     nullptr,
     {python(
         sets,
         "import numpy, open3d; numpy.save('{out}.npy', numpy.asarray(open3d.io.read_point_cloud('{in}').points))")}},
    {"a PCD point cloud",
     ".pcd",
     "# .PCD",
     nullptr,
     {python(
         sets,
         "import numpy, open3d; numpy.save('{out}.npy', numpy.asarray(open3d.io.read_point_cloud('{in}').points))")}},
    {"a picture (PNG)",
     ".png",
     "\x89PNG\r\n\x1a\n",
     nullptr,
     {advice(sets | pattern, "give the name of a file that ends in .png")},
     sets | pattern},
    {"a picture (JPEG)",
     ".jpg .jpeg",
     "\xff\xd8\xff",
     nullptr,
     {advice(sets | pattern, "give the name of a file that ends in .jpg")},
     sets | pattern},
    {"a picture, neither PNG nor JPEG",
     ".tif .tiff .bmp .gif .webp .heic .avif",
     "",
     is_picture,
     {shell(sets | pattern, "magick {in} {out}.png")}},

    // ---- Graphs ----
    {"a GraphML file",
     ".graphml",
     "",
     [](std::string_view bytes) { return xml_with(bytes, "<graphml"); },
     {networkx("networkx.read_graphml('{in}')")}},
    {"a GEXF file",
     ".gexf",
     "",
     [](std::string_view bytes) { return xml_with(bytes, "<gexf"); },
     {networkx("networkx.read_gexf('{in}')")}},
    {"a GML file",
     ".gml",
     "",
     is_gml,
     {networkx("networkx.read_gml('{in}', label='label' if ' label ' in open('{in}').read() else 'id')")}},
    {"a Pajek file", ".net .paj", "", is_pajek, {networkx("networkx.read_pajek('{in}')")}},
    {"a DOT file (Graphviz)", ".dot .gv", "", is_dot, {networkx("networkx.nx_pydot.read_dot('{in}')", "pydot")}},
    {"a METIS graph",
     ".graph .metis",
     "",
     nullptr,
     {shell(graph,
            "grep -v ^% {in} | awk 'NR == 1 {print \"p sp\", $1, 2 * $2; w = $3 % 10; s = int($3 / 10) % 10 ? ($4 ? $4 "
            ": 1) : 0; next} {for (i = 1 + s; i <= NF; i += 1 + w) print \"a\", NR - 1, $i, w ? $(i + 1) : 1}' > "
            "{out}.gr")}},
    {"a Harwell-Boeing matrix", ".hb .rb .rua .rsa .psa .pua", "", nullptr, {matrix("", "scipy.io.hb_read('{in}')")}},
    {"an OpenStreetMap extract",
     ".osm",
     "",
     [](std::string_view bytes) { return xml_with(bytes, "<osm"); },
     {python(graph,
             "import osmnx; osmnx.graph_to_gdfs(osmnx.graph_from_xml('{in}'), nodes=False).reset_index()[['u', 'v', "
             "'length']].to_csv('{out}.csv', index=False)")}},
    {"an OpenStreetMap extract (PBF)", ".pbf", "", nullptr, {shell(graph, "osmium cat {in} -o {out}.osm")}},
    {"a Matrix Market file",
     ".mtx",
     "%%MatrixMarket",
     nullptr,
     {array(sets, "scipy.io, scipy.sparse", "scipy.sparse.coo_array(scipy.io.mmread('{in}')).toarray()")},
     graph},

    // ---- Molecules ----
    {"a Gromacs trajectory (XTC)",
     ".xtc",
     "\0\0\x07\xcb"sv,
     nullptr,
     {shell(points, "gmx trjconv -f {in} -s topol.tpr -o {out}.gro")},
     frames},
    {"a Gromacs trajectory (TRR)",
     ".trr",
     "\0\0\x07\xc9"sv,
     nullptr,
     {shell(points, "gmx trjconv -f {in} -s topol.tpr -o {out}.gro")},
     frames},
    {"a Gromacs trajectory (TNG)", ".tng", "", nullptr, {shell(sets, "gmx trjconv -f {in} -s topol.tpr -o {out}.gro")}},
    {"a trajectory of AMBER, or another NetCDF file",
     ".nc .ncdf .cdf",
     "CDF\x01",
     nullptr,
     {python(
          frames,
          "import MDAnalysis; MDAnalysis.Universe('topology.prmtop', '{in}').atoms.write('{out}.dcd', frames='all')"),
      array(points | graph, "scipy.io", "scipy.io.netcdf_file('{in}').variables['NAME'][:].astype('f8')")}},
    {"a trajectory of AMBER, or another NetCDF file",
     "",
     "CDF\x02",
     nullptr,
     {python(
          frames,
          "import MDAnalysis; MDAnalysis.Universe('topology.prmtop', '{in}').atoms.write('{out}.dcd', frames='all')"),
      array(points | graph, "scipy.io", "scipy.io.netcdf_file('{in}').variables['NAME'][:].astype('f8')")}},
    {"a GSD file of HOOMD",
     ".gsd",
     "\xdf\x65\xdf\x65\xdf\x65\xdf\x65",
     nullptr,
     {python(frames, "import MDAnalysis; MDAnalysis.Universe('{in}').atoms.write('{out}.dcd', frames='all')"),
      array(points, "gsd.hoomd", "gsd.hoomd.open('{in}')[0].particles.position")}},
    {"a trajectory of ASE",
     ".traj",
     "- of Ulm",
     nullptr,
     {shell(frames, "ase convert {in} {out}.extxyz"), array(points, "ase.io", "ase.io.read('{in}').positions")}},
    {"a PDB file", ".pdb .ent", "", is_pdb, {array(points, "ase.io", "ase.io.read('{in}').positions")}, frames},
    {"a CIF file",
     ".cif .mmcif",
     "",
     is_cif,
     {shell(frames, "ase convert {in} {out}.extxyz"), array(points, "ase.io", "ase.io.read('{in}').positions")}},
    {"a POSCAR file of VASP",
     ".poscar .vasp POSCAR CONTCAR",
     "",
     is_poscar,
     {shell(frames, "ase convert -i vasp -o extxyz {in} {out}.extxyz"),
      array(points, "ase.io", "ase.io.read('{in}', format='vasp').positions")}},
    {"a trajectory of VASP",
     "XDATCAR",
     "",
     nullptr,
     {shell(frames, "ase convert -i vasp-xdatcar -o extxyz {in} {out}.extxyz")}},
    {"a LAMMPS data file",
     ".lmp",
     "",
     is_lammps_data,
     {shell(frames, "ase convert -i lammps-data {in} {out}.extxyz"),
      array(points, "ase.io", "ase.io.read('{in}', format='lammps-data').positions")}},

    // ---- Patterns ----
    {"a pattern of MCell", ".mcl", "#MCell", nullptr, {advice(pattern, "open it in Golly and save it as .rle")}},

    // ---- Containers for any content ----
    {"XML", ".xml", "<?xml", nullptr, {pandas(tables, "read_xml('{in}')")}},
    {"a tar archive", ".tar .tgz", "", is_tar, {shell(all, "tar -xf {in}")}},
    {"a ZIP archive", ".zip", "PK\x03\x04", nullptr, {shell(all, "unzip {in}")}},
    {"a 7-Zip archive", ".7z", "7z\xbc\xaf\x27\x1c", nullptr, {shell(all, "7z x {in}")}},
    {"an RAR archive", ".rar", "Rar!\x1a\x07", nullptr, {shell(all, "unrar x {in}")}},
    {"a file that gzip has packed", "", "\x1f\x8b", nullptr, {shell(all, "gunzip < {in} > {out}{ending}")}},
    {"an R data file",
     ".rds",
     "",
     is_r_data,
     {shell(tables, "Rscript -e \"write.csv(readRDS('{in}'), '{out}.csv', row.names = FALSE)\"")}},
    {"an R workspace",
     ".rdata .rda",
     "",
     is_r_data,
     {shell(tables, "Rscript -e \"write.csv(get(load('{in}')[1]), '{out}.csv', row.names = FALSE)\"")}},
    {"a file that zstd has packed", ".zst", "\x28\xb5\x2f\xfd", nullptr, {shell(all, "zstd -d {in}")}},
    {"a file that xz has packed", ".xz", "\xfd\x37zXZ", nullptr, {shell(all, "unxz -k {in}")}},
    {"a file that bzip2 has packed",
     ".bz2",
     "BZh",
     [](std::string_view bytes) { return bytes.substr(std::min<std::size_t>(bytes.size(), 4)).starts_with("1AY&SY"); },
     {shell(all, "bunzip2 -k {in}")}},
    {"a file that lz4 has packed", ".lz4", "\x04\x22\x4d\x18", nullptr, {shell(all, "lz4 -d {in}")}},
};

}  // namespace

std::span<const ForeignFormat> foreign_formats() { return rows; }

}  // namespace gradus::files
