"""A pytest plugin: runs scikit-learn's own tests while gradus.sklearn.patch() is in force."""

import gradus.sklearn

report = gradus.sklearn.patch()


def pytest_terminal_summary(terminalreporter):
    ours = [call for call in report.calls if not call.reason]
    terminalreporter.write_line(f"calls of Gradus: {len(ours)} of {len(report.calls)}")
