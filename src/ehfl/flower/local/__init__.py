"""Flower on this machine: `simulation`, or a `deployment` of a SuperLink and SuperNodes on loopback.

`up` plays a run on a deployment and shows its status; programs run as `processes`, each under a `guard`.
"""
