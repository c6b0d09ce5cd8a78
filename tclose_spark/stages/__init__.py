"""What every release goes through, in order: profile, anonymize (encode, route, settle,
generalize), publish.
"""
