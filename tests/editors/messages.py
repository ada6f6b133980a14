"""What pipec's messages say, read without a regular expression: what the editors' patterns are compared with."""


def expected_messages(text):
    """(file, line, column, severity, message, id) for each line with a place; the id is empty where there is none."""
    result = []
    for line in text.splitlines():
        # Lines of source and carets are indented. `note: ...` and `pipec: ...` have no place.
        if line.startswith((" ", "note: ", "pipec: ")):
            continue
        for severity in ("error", "warning", "note"):
            place, separator, message = line.partition(f": {severity}: ")
            if separator:
                file, row, column = place.rsplit(":", 2)
                code = ""
                if severity != "note" and message.endswith("]"):
                    message, _, code = message[:-1].rpartition(" [")
                result.append((file, row, column, severity, message, code))
                break
    return result
