"""A plugin of pytest: scikit-learn's own tests run with gradus.sklearn.patch() in force."""

import gradus.sklearn

report = gradus.sklearn.patch()


def pytest_terminal_summary(terminalreporter):
    ours = [call for call in report.calls if not call.reason]
    terminalreporter.write_line(f"calls of Gradus: {len(ours)} of {len(report.calls)}")
