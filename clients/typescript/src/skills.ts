/** Skills as functions. */

/**
 * Names that could be those of skills, but that JavaScript and Node ask any object for: `await`
 * would execute a skill `then`, and `JSON.stringify` a skill `toJSON`.
 */
const ASKED_OF_OBJECTS: readonly string[] = ["then", "toJSON", "constructor", "inspect"];

/** An object with a function for each name. The server is not asked which skills there are. */
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
