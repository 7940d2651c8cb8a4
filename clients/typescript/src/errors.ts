/** An error in the form that every error of Carob has: where, what is wrong, and how to fix it. */
export class CarobError extends Error {
  readonly where: string;
  readonly fix: string;
  readonly slug: string;

  constructor(cause: string, { where = "", fix = "", slug = "error" } = {}) {
    super(`${where ? `${where}: ` : ""}${cause}${fix ? ` ${fix}` : ""} [${slug}]`);
    this.name = "CarobError";
    this.where = where;
    this.fix = fix;
    this.slug = slug;
  }
}
