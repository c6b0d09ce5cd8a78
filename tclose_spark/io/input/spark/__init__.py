"""Files and text of inputs as Spark reads them; the local engine has readers of its own."""
