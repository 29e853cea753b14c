"""Per framework one file with ``table_sizes(model, options)``: what integer inputs index.

Each gives, by input name, the number of rows of the smallest table that an input indexes. They may
raise anything: ``validation.inputs.vocabulary`` calls them.
"""
