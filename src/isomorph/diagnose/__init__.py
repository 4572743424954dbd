"""Why a faulty node is wrong: causes, each with its experiment."""
