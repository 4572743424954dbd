"""Why a guilty node is wrong: causes, each with its experiment."""
