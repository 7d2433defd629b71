# refused: NameError: undefined_function
undefined_function()
