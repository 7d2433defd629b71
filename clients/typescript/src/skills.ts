/** Skills as functions. */

/**
 * Names that skills could have, but that JavaScript and Node look up on any object: `await` would
 * execute a skill `then`, and `JSON.stringify` a skill `toJSON`.
 */
const ASKED_OF_OBJECTS: readonly string[] = ["then", "toJSON", "constructor", "inspect"];

/** An object with a function for each name. It does not ask the server which skills exist. */
export function skillsByName<Skill>(
  skill: (name: string) => Skill,
): Readonly<Record<string, Skill>> {
  return new Proxy<Record<string, Skill>>(Object.freeze({}), {
    get: (target, name) => {
      if (typeof name === "string" && ASKED_OF_OBJECTS.includes(name)) return undefined;
      if (typeof name === "symbol" || name in target) return Reflect.get(target, name);
      return skill(name);
    },
    has: (target, name) => {
      if (typeof name === "string" && ASKED_OF_OBJECTS.includes(name)) return false;
      if (typeof name === "symbol" || name in target) return Reflect.has(target, name);
      throw new TypeError("only the server knows its skills: use `listSkills` or `describeSkill`");
    },
  });
}
