export type Dimension = number | string | null;
