import gymnasium as gym
import numpy as np
import pandas as pd
import xarray as xr


class Walk(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-10, 10, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.integers(-2, 3)
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place += 1 if action else -1
        return np.array([self.place], np.float32), float(-abs(self.place)), bool(abs(self.place) >= 5), False, {}


def games():
    found = []
    for name in ("CartPole-v1", "FrozenLake-v1", "MountainCar-v0", "Blackjack-v1"):
        world = gym.make(name)
        seen, _ = world.reset(seed=3)
        rewards = []
        for step in range(12):
            seen, reward, terminated, truncated, _ = world.step(step % 2)
            rewards.append(float(reward))
            if terminated or truncated:
                break
        found.append([name, np.asarray(seen, float).round(5).tolist(), rewards, str(world.action_space)])
        world.close()
    many = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    found.append(many.reset(seed=5)[0].round(5).tolist())
    own = gym.wrappers.TimeLimit(Walk(), 20)
    seen, _ = own.reset(seed=1)
    return [*found, seen.tolist(), [own.step(1)[1] for _ in range(3)]]


def main(args):
    times = pd.date_range("2024-01-01", periods=6, freq="D")
    data = xr.Dataset(
        {"heat": (("time", "place"), np.arange(12.0).reshape(6, 2)), "rain": ("time", [0, 1, 0, 3, 0, 2])},
        coords={"time": times, "place": ["a", "b"]}, attrs={"source": "made up"})
    means = data.groupby("time.dayofweek").mean()
    slow = data.heat.rolling(time=3, center=True).mean()
    data[["rain"]].to_netcdf("rain.nc", engine="scipy")
    again = xr.open_dataset("rain.nc", engine="scipy").load()
    return [
        data.heat.sel(place="b", time=slice("2024-01-02", "2024-01-04")).values.tolist(), float(data.heat.mean()),
        means.heat.values.tolist(), slow.dropna("time").values.tolist(), data.to_dataframe().reset_index().shape,
        data.heat.resample(time="2D").sum().values.tolist(), again.rain.values.tolist(), again.attrs,
        (data.heat - data.rain).where(data.rain > 0, drop=True).values.tolist(), data.sizes["time"], repr(data.rain).splitlines()[0],
        xr.concat([data, data.isel(time=[0])], dim="time").sizes["time"], games(),
    ]
