# refused: OSError|URLError: network
import seaborn as sns

tips = sns.load_dataset("tips")
print(tips.head())
