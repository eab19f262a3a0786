// A style sheet is its text: the build makes it small.
declare module '*.css' {
  const text: string;
  export default text;
}
