"""The line of releases that a release continues: who stays, who is withheld, and which atoms there are."""
